#!/usr/bin/env python3
"""Makes SentencePiece models of some hundred pieces, and what SentencePiece says with them.

    pip install sentencepiece==0.2.3 gguf==0.19.0 && python3 make_models.py

NAME.model is trained here on the sentences of ../vocabularies/texts.py; NAME.json has texts and, of
each, the ids and the text that Google's `sentencepiece`, in C++, makes of it. NAME.gguf has a unigram
model in the keys of llama.cpp's converter. Training has no other randomness than the seed and one
thread: a second run writes the same bytes.
"""

import json
import pathlib
import sys

import gguf
import sentencepiece

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "vocabularies"))
import texts  # noqa: E402

HARD = [
    "",
    " ",
    "   ",
    "Hello world",
    "  Hello   world  ",
    "\tTabs\tand\nlines\n\n",
    "ﬁne ﬂour Ｆｕｌｌ ｗｉｄｔｈ ①②③ ½ ㎏ ﷺ",
    "e\u0301te\u0301 cafe\u0301 \u212b \u0344 a\u0301\u0323",
    "한국어 \u1112\u1161\u11ab",
    "\u2581already \u2581\u2581marked\u2581",
    "zero\u200bwidth soft\u00adhyphen bom\ufeff nbsp\u00a0here \u3000ideographic",
    "<sep>a<sep> b<sep>  <sep>c<pad>",
    "<s> </s> <unk> <0x41> <0x0A>",
    "🦙 emoji 👩‍👩‍👧 \U0010ffff \u0378 and \U0001f600",
    "你好，世界。 今天天气",
    "Привет, мир!",
    "a" * 300,
    "x=1;y+=2//comment",
    "1234567 3.14 ٣٤",
    "~ ～ ‘quotes’ “double” … —",
]


SEED = 7


def all_texts():
    return HARD + list(texts.HARD) + list(texts.mixtures(SEED, 40))


def sentences():
    return " ".join(texts.training(SEED, 4000)).split("\n")


KINDS = {
    "unigram": dict(model_type="unigram", vocab_size=700),
    "unigram_bytes": dict(
        model_type="unigram",
        vocab_size=900,
        byte_fallback=True,
        user_defined_symbols=["<sep>", "\u2581\u2581"],
        control_symbols=["<pad2>"],
        pad_id=3,
        normalization_rule_name="nmt_nfkc_cf",
    ),
    "unigram_plain": dict(
        model_type="unigram",
        vocab_size=600,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        add_dummy_prefix=False,
        bos_id=-1,
        eos_id=1,
        unk_id=2,
        pad_id=0,
    ),
    "unigram_suffix": dict(
        model_type="unigram",
        vocab_size=600,
        treat_whitespace_as_suffix=True,
        normalization_rule_name="identity",
    ),
    "bpe": dict(
        model_type="bpe",
        vocab_size=900,
        byte_fallback=True,
        split_digits=True,
        user_defined_symbols=["<sep>", "\u2581\u2581"],
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
    ),
    "bpe_unknown": dict(
        model_type="bpe", vocab_size=600, normalization_rule_name="identity"
    ),
}


def write_gguf(name, processor, charsmap):
    writer = gguf.GGUFWriter(HERE / f"{name}.gguf", "t5")
    count = processor.get_piece_size()
    pieces = [processor.id_to_piece(i) for i in range(count)]
    scores = [processor.get_score(i) for i in range(count)]
    kinds = [
        2 if processor.is_unknown(i)
        else 3 if processor.is_control(i)
        else 5 if processor.is_unused(i)
        else 6 if processor.is_byte(i)
        else 1
        for i in range(count)
    ]
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(pieces)
    writer.add_token_scores(scores)
    writer.add_token_types(kinds)
    writer.add_add_space_prefix(True)
    writer.add_remove_extra_whitespaces(True)
    writer.add_precompiled_charsmap(charsmap)
    writer.add_unk_token_id(processor.unk_id())
    writer.add_eos_token_id(processor.eos_id())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def charsmap_of(path):
    from sentencepiece import sentencepiece_model_pb2 as proto

    model = proto.ModelProto()
    model.ParseFromString(path.read_bytes())
    return model.normalizer_spec.precompiled_charsmap


def main():
    for name, options in KINDS.items():
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences()),
            model_prefix=str(HERE / name),
            num_threads=1,
            character_coverage=0.9995,
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
        (HERE / f"{name}.vocab").unlink()
        processor = sentencepiece.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))
        vectors = []
        for text in all_texts():
            ids = processor.encode(text)
            vectors.append({"text": text, "ids": ids})
        lines = ",\n".join(json.dumps(v, ensure_ascii=False) for v in vectors)
        (HERE / f"{name}.json").write_text(f"[\n{lines}\n]\n")
        if name == "unigram":
            write_gguf(name, processor, charsmap_of(HERE / f"{name}.model"))


main()
