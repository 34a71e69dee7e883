"""Makes the tokenizer of the built-in model: python vocabulary.py FILE

A byte-pair encoding of documents, as GPT-2 has it: words with the space before them; digits each by
itself, so that sums can be done by place. FILE is what forge/text/load_tokenizer.h reads.
"""

import re
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import corpus

SIZE = 512
DOCUMENTS = 20_000
MARKS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")  # tokens 0, 1, 2

tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
    pre_tokenizers.Digits(individual_digits=True),
    pre_tokenizers.ByteLevel(add_prefix_space=False)])
tokenizer.decoder = decoders.ByteLevel()
trainer = trainers.BpeTrainer(
    vocab_size=SIZE, special_tokens=list(MARKS), show_progress=False,
    initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
between_marks = re.compile("|".join(map(re.escape, MARKS)))
tokenizer.train_from_iterator(
    (part for seed in range(DOCUMENTS) for part in between_marks.split(corpus.document(seed).text)),
    trainer)
tokenizer.save(sys.argv[1])
