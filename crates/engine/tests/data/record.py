"""Records what llama.cpp makes of the corpus and of the templates: writes the .jsonl files here.

Called with the model file, in the lab's environment for llama.cpp (`target/lab/llama-*/bin/python`).
"""

import datetime
import json
import os
import pathlib
import struct
import sys
import tempfile
import urllib.request

import xllamacpp

HERE = pathlib.Path(__file__).parent
CORPUS = [json.loads(line) for line in (HERE / "corpus.jsonl").read_text().splitlines()]
SPLITS = ["smollm", "default", "gpt-2", "llama-bpe", "dbrx", "qwen2", "gpt-4o", "tekken", "falcon"]
NORMAL, UNKNOWN, CONTROL, UNUSED, BYTE = 1, 2, 3, 5, 6
FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


def alphabet():
    """The character of each byte in byte-level vocabularies."""
    others = iter(range(256, 512))
    prints = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [chr(byte if byte in prints else next(others)) for byte in range(256)]


def read_metadata(path):
    with open(path, "rb") as file:

        def number(form):
            return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))[0]

        def value(kind):
            if kind == 8:
                return file.read(number("Q")).decode()
            if kind == 9:
                of, length = number("I"), number("Q")
                return [value(of) for _ in range(length)]
            return number(FORMATS[kind])

        file.seek(16)
        return {value(8): value(number("I")) for _ in range(number("Q"))}


def write_model(path, **tokenizer):
    """A model with that vocabulary whose weights are all zero: it only has to be loaded."""
    width, tokens = 32, tokenizer["tokens"][2]

    def text(text):
        return struct.pack("<Q", len(text.encode())) + text.encode()

    def value(kind, *rest):
        if kind == 8:
            return text(*rest)
        if kind == 9:
            of, items = rest
            return struct.pack("<IQ", of, len(items)) + b"".join(value(of, item) for item in items)
        return struct.pack("<" + FORMATS[kind], *rest)

    sizes = {"block_count": 1, "context_length": 256, "attention.head_count": 1}
    sizes |= {"embedding_length": width, "feed_forward_length": width}
    metadata = {"general.architecture": (8, "llama")}
    metadata |= {f"llama.{key}": (4, size) for key, size in sizes.items()}
    metadata |= {"llama.attention.layer_norm_rms_epsilon": (6, 1e-5)}
    metadata |= {f"tokenizer.ggml.{key}": typed for key, typed in tokenizer.items()}
    tensors = {"token_embd": [width, len(tokens)], "output_norm": [width]}
    tensors |= {f"blk.0.{name}_norm": [width] for name in ("attn", "ffn")}
    square = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down"
    tensors |= {f"blk.0.{name}": [width, width] for name in square.split()}

    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    for key, (kind, *rest) in metadata.items():
        header += text(key) + struct.pack("<I", kind) + value(kind, *rest)
    offset = 0
    for name, shape in tensors.items():
        header += text(name + ".weight") + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        header += struct.pack("<IQ", 0, offset)
        offset += 4 * width * (shape + [1])[1]
    path.write_bytes(header + bytes(-len(header) % 32 + offset))


def start(path, template=None):
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.n_ctx = 256
    parameters.n_parallel = 1
    parameters.warmup = False
    if template is not None:
        parameters.use_jinja = True
        parameters.chat_template = template
    server = xllamacpp.Server(parameters)

    def post(path, body):
        json_type = {"Content-Type": "application/json"}
        request = urllib.request.Request(
            server.listening_address + path, json.dumps(body).encode(), json_type
        )
        return json.load(urllib.request.urlopen(request))

    return server, post


def tokenized(path):
    server, post = start(path)
    options = {"add_special": False, "parse_special": True}
    return [post("/tokenize", {"content": text, **options})["tokens"] for text in CORPUS]


def save(name, rows):
    lines = [json.dumps(row, separators=(",", ":")) + "\n" for row in rows]
    (HERE / name).write_text("".join(lines))


def record_splits(path):
    """With every pair of bytes as a token; a text is left out where it is as for the first."""
    letters = alphabet()
    pairs = [(one, other) for one in letters for other in letters]
    tokens = letters + [one + other for one, other in pairs]
    first, rows = None, []
    for pre in SPLITS:
        write_model(
            path,
            model=(8, "gpt2"),
            pre=(8, pre),
            tokens=(9, 8, tokens),
            token_type=(9, 5, [NORMAL] * len(tokens)),
            merges=(9, 8, [one + " " + other for one, other in pairs]),
            bos_token_id=(4, 0),
            eos_token_id=(4, 0),
        )
        result = tokenized(path)
        for text, tokens_of_text, as_first in zip(CORPUS, result, first or [None] * len(result)):
            if len(text.encode()) <= 100 and tokens_of_text != as_first:
                rows.append({"pre": pre, "text": text, "tokens": tokens_of_text})
        first = first or result
    save("pre.jsonl", rows)


def record_scores(path, metadata):
    """With the model's tokens as a vocabulary of the other kind, the earlier the better."""
    numbers = {letter: byte for byte, letter in enumerate(alphabet())}
    own = metadata["tokenizer.ggml.tokens"]
    tokens = {"<unk>": UNKNOWN, "<s>": CONTROL, "</s>": CONTROL}
    tokens |= {f"<0x{byte:02X}>": BYTE for byte in range(256)}
    for text, kind in zip(own, metadata["tokenizer.ggml.token_type"]):
        if kind != CONTROL:
            try:
                text = bytes(numbers[letter] for letter in text).decode().replace(" ", "\u2581")
            except UnicodeDecodeError:
                continue
        tokens.setdefault(text, kind)
    tokens |= {f"<unused_{number}>": UNUSED for number in range(len(tokens), len(own))}
    rows = []
    for prefix in (True, False):
        write_model(
            path,
            model=(8, "llama"),
            tokens=(9, 8, list(tokens)),
            token_type=(9, 5, list(tokens.values())),
            scores=(9, 6, [-float(number) for number in range(len(tokens))]),
            add_space_prefix=(7, prefix),
        )
        for text, tokens_of_text in zip(CORPUS, tokenized(path)):
            if len(text) < 100:
                rows.append({"space_prefix": prefix, "text": text, "tokens": tokens_of_text})
    save("spm.jsonl", rows)


def record_templates(model):
    def talk(*turns):
        roles = {"s": "system", "u": "user", "a": "assistant"}
        return [{"role": roles[turn[0]], "content": turn[1:]} for turn in turns]

    plain = [
        talk("uHello"),
        talk("uWhat is 2+2?", "a4", "u  And 3+3? \n"),
        talk("ua\n\nb 'c' \"d\" <e> & {{ f }} {% g %}", "aé漢😀", "u<|im_end|>\\n"),
    ]
    system = [
        talk("sBe brief.", "uHi"),
        talk("s You are\na pirate.  ", "uHi", "aArr", "uBye"),
    ]
    today = datetime.date.today()
    rows = []
    for file in sorted((HERE / "templates").glob("*.jinja")):
        server, post = start(model, file.read_text())
        # llama.cpp helps templates that refuse a system message; we do not.
        refuses = file.stem in ("mistral", "gemma2")
        for messages in plain + ([] if refuses else system):
            for add in (True, False):
                body = {"messages": messages, "add_generation_prompt": add}
                prompt = post("/apply-template", body)["prompt"]
                date = [today.year, today.month, today.day]
                rows.append({"template": file.stem, "date": date, **body, "prompt": prompt})
    save("templates/rendered.jsonl", rows)


with tempfile.TemporaryDirectory() as directory:
    path = pathlib.Path(directory) / "model.gguf"
    record_splits(path)
    record_scores(path, read_metadata(sys.argv[1]))
record_templates(sys.argv[1])
# The servers' threads would otherwise keep the process.
os._exit(0)
