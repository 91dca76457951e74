"""What an output must look like, as a grammar; and which tokens a grammar allows.

Grammars are texts in llguidance's dialect of Lark. Only ``compiler`` imports that
package, which is an extra: everything else is pure text.
"""
