"""Asks Python's own `tokenizers`.

Called with: a tokenizer.json, then `encode` and a file with a JSON list of texts, or `golden` with a
seed and a count. Prints one JSON list: for each text its tokens and how many there are with those
that the tokenizer adds; or random texts, each with the tokens that it is made of.
"""

import json
import random
import sys

from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file(sys.argv[1])
tokenizer.no_truncation()
tokenizer.no_padding()


def ids(text, special=False):
    return tokenizer.encode(text, add_special_tokens=special).ids


def golden(draw):
    """Tokens at random, until their text is made of the same tokens again."""
    while True:
        drawn = [draw.randrange(tokenizer.get_vocab_size()) for _ in range(draw.randint(1, 60))]
        for _ in range(5):
            text = tokenizer.decode(drawn)
            again = ids(text)
            if again == drawn and text and "\ufffd" not in text:
                return text, drawn
            drawn = again
            if not drawn:
                break


if sys.argv[2] == "encode":
    with open(sys.argv[3], encoding="utf-8") as file:
        texts = json.load(file)
    answer = [(ids(text), len(ids(text, special=True))) for text in texts]
else:
    seed, count = map(int, sys.argv[3:])
    draw = random.Random(seed)
    answer = [golden(draw) for _ in range(count)]
print(json.dumps(answer))
