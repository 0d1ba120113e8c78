"""A small S3 client: for making buckets, and for looking at them from outside of what is being tested."""

import hashlib
import hmac
import http.client
import ssl
import urllib.parse
import xml.etree.ElementTree as xml
from datetime import datetime, timezone

from .layout import StackError


class S3Client:
    """Path style. `ca_file`: for https endpoints."""

    def __init__(self, endpoint, key, secret, region="us-east-1", ca_file=None):
        self.endpoint, self.key, self.secret, self.region, self.ca_file = endpoint, key, secret, region, ca_file

    def request(self, method, path, query=None, body=b"", headers=None):
        """A signed request for "/bucket/key" (not encoded): status, headers and body of the answer."""
        url = urllib.parse.urlsplit(self.endpoint)
        target = urllib.parse.quote(path, safe="/-_.~")
        pairs = sorted((_quote(name), _quote(value)) for name, value in (query or {}).items())
        query_text = "&".join(f"{name}={value}" for name, value in pairs)
        sent = {"host": url.netloc, "x-amz-date": datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ"),
                "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
                **{name.lower(): value for name, value in (headers or {}).items()}}
        sent["authorization"] = self._authorization(method, target, query_text, sent)
        connection = (http.client.HTTPConnection(url.hostname, url.port, timeout=60) if url.scheme == "http" else
                      http.client.HTTPSConnection(url.hostname, url.port, timeout=60,
                                                  context=ssl.create_default_context(cafile=self.ca_file)))
        try:
            connection.request(method, f"{target}?{query_text}" if query_text else target, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def presigned(self, method, path, seconds=3600):
        """A url with which anybody can do that for so long."""
        url = urllib.parse.urlsplit(self.endpoint)
        time = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        target = urllib.parse.quote(path, safe="/-_.~")
        query = "&".join(f"{name}={_quote(value)}" for name, value in (
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", f"{self.key}/{self._scope(time)}"),
            ("X-Amz-Date", time), ("X-Amz-Expires", str(seconds)), ("X-Amz-SignedHeaders", "host")))
        canonical = "\n".join([method, target, query, f"host:{url.netloc}", "", "host", "UNSIGNED-PAYLOAD"])
        return f"{self.endpoint}{target}?{query}&X-Amz-Signature={self._signature(time, canonical)}"

    def _authorization(self, method, target, query, headers):
        names = sorted(headers)
        canonical = "\n".join([method, target, query, *(f"{name}:{' '.join(headers[name].split())}" for name in names),
                               "", ";".join(names), headers["x-amz-content-sha256"]])
        time = headers["x-amz-date"]
        return (f"AWS4-HMAC-SHA256 Credential={self.key}/{self._scope(time)}, SignedHeaders={';'.join(names)},"
                f" Signature={self._signature(time, canonical)}")

    def _scope(self, time):
        return f"{time[:8]}/{self.region}/s3/aws4_request"

    def _signature(self, time, canonical):
        key = f"AWS4{self.secret}".encode()
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        for part in (time[:8], self.region, "s3", "aws4_request",
                     f"AWS4-HMAC-SHA256\n{time}\n{self._scope(time)}\n{digest}"):
            key = hmac.digest(key, part.encode(), "sha256")
        return key.hex()

    def ask(self, method, path, query=None, body=b"", headers=None):
        """The body of an answer that must be good."""
        status, _, text = self.request(method, path, query, body, headers)
        if not 200 <= status < 300:
            raise StackError(f"{method} {path}: {status}: {text.decode(errors='replace')[:300]}")
        return text

    # --- what is asked most -----------------------------------------------------------------------------------------
    def create_bucket(self, bucket):
        """Its own bucket may be there already."""
        status, _, text = self.request("PUT", f"/{bucket}")
        if status != 200 and b"BucketAlreadyOwnedByYou" not in text:
            raise StackError(f"could not make the bucket {bucket}: {status}: {text.decode(errors='replace')[:300]}")

    def objects(self, bucket, prefix=""):
        """{key: size} of all keys that begin with it."""
        found, token = {}, None
        while True:
            query = {"list-type": "2", "prefix": prefix, **({"continuation-token": token} if token else {})}
            page = xml.fromstring(self.ask("GET", f"/{bucket}", query))
            for entry in _children(page, "Contents"):
                found[_text(entry, "Key")] = int(_text(entry, "Size"))
            token = _text(page, "NextContinuationToken")
            if not token:
                return found

    def uploads(self, bucket):
        """Keys of the uploads that were begun and not finished."""
        page = xml.fromstring(self.ask("GET", f"/{bucket}", {"uploads": ""}))
        return [_text(entry, "Key") for entry in _children(page, "Upload")]

    def get(self, bucket, key):
        return self.ask("GET", f"/{bucket}/{key}")

    def put(self, bucket, key, body):
        self.ask("PUT", f"/{bucket}/{key}", body=body)

    def delete(self, bucket, key):
        self.ask("DELETE", f"/{bucket}/{key}")


def _quote(text):
    return urllib.parse.quote(text, safe="-_.~")


def _children(element, name):
    return [child for child in element if child.tag.rpartition("}")[2] == name]


def _text(element, name):
    found = _children(element, name)
    return found[0].text or "" if found else None
