"""Generate text in this process: python examples/generate.py model.gguf "Once upon a"."""

import sys

from llamactypes import Batch, Context, ContextParams, Model, SamplerChain, SamplingParams

model = Model(sys.argv[1])
context = Context(model, ContextParams(n_ctx=512))
sampler = SamplerChain.from_params(model, SamplingParams(temperature=0.0))
tokens, position, batch = model.vocab.tokenize(sys.argv[2], add_special=True), 0, Batch(512)
while position < 128 and not model.vocab.is_eog(tokens[-1]):
    batch.clear()
    batch.extend(tokens, position, 0, last_logits=True)
    context.decode(batch)
    position, tokens = position + len(tokens), [sampler.sample(context, -1)]
    print(model.vocab.piece(tokens[0]).decode("utf-8", "replace"), end="", flush=True)
