"""What one record becomes: the file that ../../README.md describes, with its placeholders filled."""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from typing import Any

PLACEHOLDER = re.compile(r'\{\{(\w+)\}\}')

Object = dict[str, Any]


class Rendering:
    def __init__(self, path: str) -> None:
        with open(path, encoding='utf-8') as file:
            read = json.load(file)
        if read['format'] != 1:
            raise ValueError(f"{path} has format {read['format']}; this operator knows 1")
        self.field_manager: str = read['fieldManager']
        self.tracing_project = json.dumps(read['tracingProject'])
        self.revision = json.dumps(read['revision'])
        self.secrets = [json.dumps(secret) for secret in read['secrets']]
        self.children = [json.dumps(child) for child in read['children']]
        self.statuses = {status['kind']: json.dumps(status) for status in read['statuses']}


def filled(text: str, values: Mapping[str, str]) -> Object:
    """None of the values has a character that JSON escapes."""
    values = {**values, 'password': secrets.token_urlsafe(24)}
    return json.loads(PLACEHOLDER.sub(lambda place: values[place[1]], text))


def stamped(text: str, values: Mapping[str, str]) -> Object:
    """With the digest by which a later look knows that exactly this was applied."""
    text = PLACEHOLDER.sub(lambda place: values.get(place[1], place[0]), text)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return json.loads(text.replace('{{digest}}', digest))


def differs(wanted: Any, actual: Any) -> bool:
    """Whether some field of `wanted` is missing in `actual` or other there. Fields that it leaves out are others'."""
    if not wanted and not actual:
        return False
    if isinstance(wanted, Mapping) and isinstance(actual, Mapping):
        return any(differs(value, actual.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(wanted) != len(actual) or any(map(differs, wanted, actual))
    return wanted != actual
