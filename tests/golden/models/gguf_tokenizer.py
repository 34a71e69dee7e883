"""The tokenizer of a Llama 2 in GGUF: what tokenizer.json says, in the keys of llama.cpp."""

import gguf

SPECIAL = {
    "<unk>": gguf.TokenType.UNKNOWN,
    "<s>": gguf.TokenType.CONTROL,
    "</s>": gguf.TokenType.CONTROL,
}


def type_of(spelling):
    if spelling.startswith("<0x") and spelling.endswith(">"):
        return gguf.TokenType.BYTE
    return SPECIAL.get(spelling, gguf.TokenType.NORMAL)


def scores(spellings, merges):
    """As SentencePiece gives them: a token is worth less the later it was merged."""
    ranks = {}
    for rank, (left, right) in enumerate(merges):
        ranks.setdefault(left + right, rank)
    last = len(merges)  # single characters, which no merge makes, come after all others
    singles = [s for s in spellings if type_of(s) == gguf.TokenType.NORMAL and s not in ranks]
    ranks |= {spelling: last + i for i, spelling in enumerate(singles)}
    return [-float(ranks.get(spelling, 0)) for spelling in spellings]


def add(writer, tokenizer):
    """`tokenizer` is a tokenizer.json, parsed."""
    model = tokenizer["model"]
    spellings = sorted(model["vocab"], key=model["vocab"].get)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(spellings)
    writer.add_token_scores(scores(spellings, model["merges"]))
    writer.add_token_types([type_of(spelling) for spelling in spellings])
    writer.add_unk_token_id(model["vocab"]["<unk>"])
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    writer.add_add_space_prefix(True)
