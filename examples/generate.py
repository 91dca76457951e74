"""Generate text in this process: python examples/generate.py MODEL.gguf PROMPT."""

import sys

import llamactypes as lt

model = lt.Model(sys.argv[1])
context = lt.Context(model, lt.ContextParams(n_ctx=512))
sampler = lt.SamplerChain.from_params(model, lt.SamplingParams(temperature=0.0))
tokens, n_computed = model.vocab.tokenize(sys.argv[2], add_special=True), 0
with lt.Batch(512) as batch:
    while len(tokens) < 128 and not model.vocab.is_eog(tokens[-1]):
        batch.clear()
        batch.extend(tokens[n_computed:], n_computed, 0, last_logits=True)
        context.decode(batch)
        n_computed = len(tokens)
        tokens.append(sampler.sample(context, -1))
print(model.vocab.detokenize(tokens, remove_special=True))
