# Asks `ipw serve` as the official package does, and prints what it saw as JSON.

import json, sys, openai
client = openai.OpenAI(
    base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0,
    http_client=openai.DefaultHttpxClient(trust_env=False),
)
asked = dict(
    model="tiny", temperature=0, max_tokens=16, extra_body={"ignore_eos": True},
    messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi, 世界 🌍"}],
)
whole = client.chat.completions.create(**asked)
stream = client.chat.completions.create(
    stream=True, stream_options={"include_usage": True}, **asked
)
chunks = list(stream)
seen = {
    "models": [model.id for model in client.models.list()],
    "model": client.models.retrieve("tiny").id,
    "text": whole.choices[0].message.content,
    "reason": whole.choices[0].finish_reason,
    "usage": [whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens],
    "streamed": "".join(c.choices[0].delta.content or "" for c in chunks if c.choices),
    "role": chunks[0].choices[0].delta.role,
    "reasons": [c.choices[0].finish_reason for c in chunks if c.choices][-2:],
    "stream_usage": [
        [c.usage.prompt_tokens, c.usage.completion_tokens, c.usage.total_tokens]
        for c in chunks if c.usage
    ],
}
def error(kind, **changed):
    try:
        client.chat.completions.create(**{**asked, **changed})
    except kind as error:
        return {"message": error.message, "param": error.param, "code": error.code}
seen["bad"] = error(openai.BadRequestError, temperature=-1)
seen["long"] = error(openai.BadRequestError, messages=[{"role": "user", "content": "x " * 500}])
seen["long_stream"] = error(
    openai.BadRequestError, stream=True, messages=[{"role": "user", "content": "x " * 500}]
)
seen["missing"] = error(openai.NotFoundError, model="gpt-4o")
print(json.dumps(seen))
