"""Makes tales/: a trained checkpoint with its tokenizer, and what transformers tells with it.

Usage: make_tales.py            trains the model and writes the folder
       make_tales.py --check    makes it elsewhere, exits 1 unless it is the same: every byte but
                                float32_error, which measures this processor's float32 kernels

Needs the packages of requirements.txt. Takes some minutes.
"""

import json
from pathlib import Path

import safetensors.torch  # noqa: F401  before widened(), which it would keep for ever
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, processors, trainers
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

import gguf_sibling
import golden_files
import tales_training
import weights
from family import TOKENS, Family, rope
from make_models import HERE, golden, margin, measure, require, require_same_tensors
from make_models import save, write_json
from reference import Reference, build, widened
from tales_text import tales

NAME = "tales"
VOCABULARY = 416
SEED = 20231116
TALES = 1200
STORY = 201  # tokens of a golden tale, <s> included, unless it ends before
PROMPTS = ("Long ago a noisy fox", "The wolf by the mill", "Ada and Ben")
MARGIN_MIN = 1e-3  # between the largest logit and the next, in every step of a golden tale

FAMILY = Family(
    NAME,
    "LlamaConfig",
    {
        "vocab_size": VOCABULARY,
        "intermediate_size": 60,  # no multiple of 32, the weights of a quantized block
        "num_hidden_layers": 3,
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 512,
        "tie_word_embeddings": True,
        "rope_parameters": rope(10000.0),
    },
    features=(),  # llama shows them
)

SPECIAL = ("<unk>", "<s>", "</s>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))


def trained_pieces(texts):
    """Vocabulary and merges of words, as SentencePiece learns them."""
    words = Tokenizer(models.BPE(unk_token="<unk>"))
    words.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always", split=True)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[*SPECIAL, *BYTES], show_progress=False
    )
    words.train_from_iterator(texts, trainer)
    return json.loads(words.to_str())["model"]


def make_tokenizer(texts):
    """A tokenizer of Llama 2's kind: U+2581 for spaces, bytes for what has no token."""
    trained = trained_pieces(texts)
    require(len(trained["vocab"]) == VOCABULARY, f"the vocabulary has {len(trained['vocab'])}")
    merges = [tuple(merge) for merge in trained["merges"]]
    model = models.BPE(
        trained["vocab"], merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True, normalized=False) for text in SPECIAL]
    )
    return tokenizer


def write_tokenizer(folder, tokenizer):
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8")
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "add_bos_token": True,
        "add_eos_token": False,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / "tokenizer_config.json", config, indent=1)
    read_back = AutoTokenizer.from_pretrained(folder)
    for text in (*PROMPTS, "caf\u00e9 <s> 12,345", " a  b\n"):
        require(read_back(text)["input_ids"] == tokenizer.encode(text).ids, f"{text!r} differs")


def trained_model(tokenizer, texts):
    """The model, in float32, with weights that are bfloat16 values."""
    end = tokenizer.token_to_id("</s>")
    with widened():
        wide = build(FAMILY.config(), torch.float64)
    weights.fill(wide, FAMILY)  # where training begins
    wide.train()
    learnt = [tokenizer.encode(text).ids + [end] for text in texts]
    tales_training.train(wide, learnt, end, SEED, report)
    model = build(FAMILY.config(), torch.float32)
    model.load_state_dict(tales_training.rounded_weights(wide))
    return model


def report(step, loss):
    if step % 50 == 0 or step + 1 == tales_training.STEPS:
        print(f"step {step}: loss {loss:.3f}", flush=True)


def write_checkpoint(folder, tokenizer, model):
    save(model, folder)
    write_tokenizer(folder, tokenizer)
    state = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    gguf = f"{NAME}.gguf"
    tokenizer_json = json.loads(tokenizer.to_str())
    gguf_sibling.write(folder / gguf, NAME, model.config, state, tokenizer_json)
    require_same_tensors(AutoModelForCausalLM.from_pretrained(folder), model, NAME)
    read_back = AutoModelForCausalLM.from_pretrained(folder, gguf_file=gguf)
    require_same_tensors(read_back, model, gguf)
    from_gguf = AutoTokenizer.from_pretrained(folder, gguf_file=gguf)
    for text in tales(SEED + 2, 20):
        ids = from_gguf(text, add_special_tokens=False)["input_ids"]
        require(ids == tokenizer.encode(text).ids[1:], f"{gguf}: {text!r} differs")


def told(reference, tokenizer, prompt):
    """A tale: greedy from `prompt`, to its end or to STORY tokens."""
    tokens = tokenizer.encode(prompt).ids
    chosen, rows = reference.greedy(tokens, STORY - len(tokens))
    end = tokenizer.token_to_id("</s>")
    count = chosen.index(end) + 1 if end in chosen else len(chosen)
    gap = margin(rows[:count])
    require(gap > MARGIN_MIN, f"{prompt!r}: two largest logits are {gap:.1e} apart")
    text = tokenizer.decode(tokens + chosen[:count])
    return {
        "prompt": prompt,
        "tokens": tokens,
        "more": chosen[:count],
        "text": text.removeprefix(" "),
        "ends": end in chosen,
    }


def make(out):
    folder = out / NAME
    texts = tales(SEED, TALES)
    tokenizer = make_tokenizer(texts)
    model = trained_model(tokenizer, texts)
    write_checkpoint(folder, tokenizer, model)
    state = model.state_dict()
    unseen = tokenizer.encode(tales(SEED + 1, 1)[0]).ids[:TOKENS]
    result = golden(unseen, measure(FAMILY, state, unseen))
    reference = Reference(FAMILY.config(), state)
    result["cases"] = [told(reference, tokenizer, prompt) for prompt in PROMPTS]
    ends = [case["ends"] for case in result["cases"]]
    require(any(ends) and not all(ends), f"of tales that end, and of others, there are {ends}")
    write_json(folder / "golden.json", result, ensure_ascii=False, separators=(",", ":"))
    for case in result["cases"]:
        print(f"{len(case['tokens']) + len(case['more'])} tokens: {case['text']}")


def files_of(root):
    return {path.relative_to(root) for path in (root / NAME).glob("*")}


if __name__ == "__main__":
    golden_files.run("Makes the small trained model and its tales.", HERE, make, files_of)
