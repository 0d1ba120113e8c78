"""An S3 server that misbehaves on request. It keeps one bucket in memory, or makes up millions of keys without keeping
them, and does to chosen requests what real stores do on bad days.

    peer.fault(error(503, "SlowDown"), op="DeleteObjects", share=0.9)
    peer.fault(lost_answer, op="PutObject", times=1)

It takes any signature that is there: a real server beside it verifies them. What it was asked stands in `peer.requests`."""

import base64
import hashlib
import itertools
import json
import random
import re
import ssl
import threading
import time
import urllib.parse
import uuid
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from xml.sax.saxutils import escape

SKEW_SECONDS = 15 * 60
PAGE = 1000


@dataclass
class Request:
    op: str
    method: str
    key: str
    query: dict
    headers: dict
    body: bytes = b""


@dataclass
class Answer:
    status: int = 200
    body: bytes = b""
    headers: dict = field(default_factory=dict)
    again: bytes = b""  # comes behind the body, again and again, for as long as somebody listens


class Dropped(Exception):
    """The connection ends here, without another byte."""


# --- what goes wrong: functions of (peer, request, go_on) that answer, or raise Dropped ---------------------------------
def error(status, code, headers=None, message="as the script says", extra=""):
    return lambda peer, request, go_on: error_answer(status, code, message, headers, extra)


def error_answer(status, code, message="", headers=None, extra=""):
    return Answer(status, f"<Error><Code>{code}</Code><Message>{escape(message)}</Message>{extra}"
                          f"<RequestId>req-{next(_numbers)}</RequestId></Error>".encode(), dict(headers or {}))


def lost_answer(_peer, _request, go_on):
    """What was asked is done, and nobody hears of it."""
    go_on()
    raise Dropped


def refused(_peer, _request, _go_on):
    raise Dropped


def silence(peer, _request, _go_on):
    """Accepted, and never answered."""
    peer.ended.wait()
    raise Dropped


def altered(change):
    """The right answer, but for `change(answer)`, which may return another one or none."""
    def act(_peer, _request, go_on):
        answer = go_on()
        return change(answer) or answer
    return act


def torn(share=0.5):
    """Says how long the body is, and sends less."""
    def cut(answer):
        answer.headers["Content-Length"] = str(len(answer.body))
        answer.body = answer.body[:int(len(answer.body) * share)]
        answer.headers["Connection"] = "close"
    return altered(cut)


def endless(begin=b"", again=b"x" * 65536, status=200):
    """A body that never ends."""
    return lambda peer, request, go_on: Answer(status, begin, {"Connection": "close"}, again)


def together(count, seconds=60):
    """Answered once so many of them are under way at the same time."""
    barrier = threading.Barrier(count, timeout=seconds)

    def act(_peer, _request, go_on):
        barrier.wait()
        return go_on()
    return act


def empty(_peer, _request, go_on):
    go_on()
    return Answer(200)


_numbers = itertools.count(1)


@dataclass
class Fault:
    act: object
    op: str = None
    key: str = None
    times: int = None
    share: float = 1.0
    after: int = 0


class Generated:
    """Keys that follow from their number, in order: key_of(i) < key_of(i + 1)."""

    def __init__(self, count, key_of, size=1000):
        self.count, self.key_of, self.size = count, key_of, size
        self.gone = bytearray(count)

    def find(self, key):
        at = bisect_left(range(self.count), key, key=self.key_of)
        return at if at < self.count and not self.gone[at] and self.key_of(at) == key else None

    def left(self):
        return self.count - sum(self.gone)

    def page(self, prefix, after, most):
        """Up to `most` keys behind `after` that begin with the prefix, and whether more follow."""
        at = max(bisect_right(range(self.count), after, key=self.key_of),
                 bisect_left(range(self.count), prefix, key=self.key_of))
        keys = []
        while at < self.count:
            key = self.key_of(at)
            if not key.startswith(prefix):
                return keys, False
            if not self.gone[at]:
                if len(keys) == most:
                    return keys, True
                keys.append(key)
            at += 1
        return keys, False


@dataclass
class Stored:
    data: bytes
    etag: str
    meta: dict
    time: float
    version: str = "null"
    marker: bool = False


class S3Peer:
    """`conditional`: whether If-None-Match works: True, "refused" (501) or "ignored". `tls`: (certificate, key) files."""

    def __init__(self, bucket="bucket", region="us-east-1", conditional=True, bulk=True, versioned=False, tls=None):
        self.bucket, self.region, self.conditional, self.bulk, self.versioned = (
            bucket, region, conditional, bulk, versioned)
        self.objects = {}  # key -> [Stored, ...], the newest last
        self.uploads = {}  # id -> (key, {number: data}, time)
        self.generated = None
        self.faults = []
        self.requests = []
        self.counts = Counter()
        self.skew = 0  # of its clock, in seconds
        self.tokens = None  # the session tokens that it takes; None for any and none
        self.credentials = {}  # what its STS and metadata service hand out next
        self.list_lag = 0  # how many of the newest keys a listing does not show yet
        self.cuts = Counter()  # by operation: how many bodies of requests are still to be cut in the middle
        self.connections = 0  # that were made
        self.keep_requests = True
        self.ended = threading.Event()
        self.lock = threading.RLock()
        self.random = random.Random(7)
        peer = self

        class Handler(_Handler):
            owner = peer

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.tls = tls
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    # --- for tests ---------------------------------------------------------------------------------------------------
    @property
    def endpoint(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.server.server_address[1]}"

    def url(self, prefix="", **parameters):
        query = {"endpoint": self.endpoint, **parameters}
        return f"s3://{self.bucket}/{prefix}?{'&'.join(f'{name}={value}' for name, value in query.items())}"

    def settings(self, prefix="", **parameters):
        return {"GRANARY_STORE_URL": self.url(prefix, **parameters), "GRANARY_STORE_ACCESS_KEY_ID": "key",
                "GRANARY_STORE_SECRET_ACCESS_KEY": "secret"}

    def fault(self, act, op=None, key=None, times=None, share=1.0, after=0):
        """From now on, for requests of that operation and key: the first `after` are spared, then `times` of them fail, or
        each with the chance `share`."""
        self.faults.append(Fault(act, op, key, times, share, after))

    def put(self, key, data=b"data", age=0, meta=None):
        self._store(key, Stored(data, hashlib.md5(data).hexdigest(), meta or {}, time.time() - age))

    def keys(self):
        with self.lock:
            return sorted(key for key, versions in self.objects.items() if versions and not versions[-1].marker)

    def data(self, key):
        return self.objects[key][-1].data

    def count(self, op):
        return self.counts[op]

    def close(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- one request -------------------------------------------------------------------------------------------------
    def answer(self, request):
        with self.lock:
            self.counts[request.op] += 1
            if self.keep_requests:
                self.requests.append(request)
            fault = self._find_fault(request)
        if fault:
            return fault.act(self, request, lambda: self._handle(request))
        return self._handle(request)

    def _find_fault(self, request):
        for fault in self.faults:
            if fault.op not in (None, request.op) or fault.key not in (None, request.key) or fault.times == 0:
                continue
            if fault.after > 0:
                fault.after -= 1
                continue
            if self.random.random() >= fault.share:
                continue
            if fault.times is not None:
                fault.times -= 1
            return fault
        return None

    def _handle(self, request):
        refusal = self._check(request)
        if refusal:
            return refusal
        with self.lock:
            return getattr(self, f"_{request.op}")(request)

    def _check(self, request):
        if request.op in ("AssumeRole", "Metadata"):
            return None
        signed = request.headers.get("authorization", "")
        found = re.match(r"AWS4-HMAC-SHA256 Credential=[^/]+/\d{8}/([^/]+)/s3/aws4_request", signed)
        if not found:
            return error_answer(403, "AccessDenied")
        sent = datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
        if abs(sent.timestamp() - self.now()) > SKEW_SECONDS:
            return error_answer(403, "RequestTimeTooSkewed")
        if found[1] != self.region:
            return error_answer(301, "PermanentRedirect", "somewhere else", {"x-amz-bucket-region": self.region})
        if self.tokens is not None and request.headers.get("x-amz-security-token") not in self.tokens:
            return error_answer(400, "ExpiredToken", "The provided token has expired.")
        if hashlib.sha256(request.body).hexdigest() != request.headers["x-amz-content-sha256"]:
            return error_answer(400, "XAmzContentSHA256Mismatch")
        return None

    def now(self):
        return time.time() + self.skew

    # --- objects -----------------------------------------------------------------------------------------------------
    def _store(self, key, stored):
        with self.lock:
            stored.version = str(uuid.uuid4()) if self.versioned else "null"
            self.objects[key] = (self.objects.get(key, []) if self.versioned else []) + [stored]

    def _current(self, key):
        versions = self.objects.get(key)
        if versions and not versions[-1].marker:
            return versions[-1]
        if self.generated and self.generated.find(key) is not None:
            data = key.encode().ljust(self.generated.size, b".")[:self.generated.size]
            return Stored(data, hashlib.md5(data).hexdigest(), {}, time.time() - 86400)
        return None

    def _taken(self, request):
        if request.headers.get("if-none-match") != "*" or self.conditional == "ignored":
            return None
        if self.conditional == "refused":
            return error_answer(501, "NotImplemented")
        return error_answer(412, "PreconditionFailed") if self._current(request.key) else None

    def _PutObject(self, request):
        refusal = self._taken(request)
        if refusal:
            return refusal
        meta = {name: value for name, value in request.headers.items() if name.startswith("x-amz-meta-")}
        self.put(request.key, request.body, meta=meta)
        answer = Answer(200, headers={"ETag": f'"{hashlib.md5(request.body).hexdigest()}"'})
        if "x-amz-checksum-sha256" in request.headers:
            answer.headers["x-amz-checksum-sha256"] = base64.b64encode(hashlib.sha256(request.body).digest()).decode()
        return answer

    def _HeadObject(self, request):
        return self._GetObject(request)

    def _GetObject(self, request):
        stored = self._current(request.key)
        if stored is None:
            return error_answer(404, "NoSuchKey")
        headers = {"ETag": f'"{stored.etag}"', "Last-Modified": formatdate(stored.time + self.skew, usegmt=True),
                   **stored.meta}
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("range", ""))
        if not found:
            return Answer(200, stored.data, headers)
        first, last = int(found[1]), min(int(found[2]), len(stored.data) - 1)
        if first > last:
            return error_answer(416, "InvalidRange", headers={"Content-Range": f"bytes */{len(stored.data)}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{len(stored.data)}"
        return Answer(206, stored.data[first:last + 1], headers)

    # --- deletes -----------------------------------------------------------------------------------------------------
    def _remove(self, key, version):
        """What the answer says of it."""
        if self.generated:
            at = self.generated.find(key)
            if at is not None:
                self.generated.gone[at] = 1
        if version:
            self.objects[key] = [stored for stored in self.objects.get(key, []) if stored.version != version]
        elif self.versioned:
            marker = Stored(b"", "", {}, time.time(), marker=True)
            self._store(key, marker)
            return f"<DeleteMarker>true</DeleteMarker><DeleteMarkerVersionId>{marker.version}</DeleteMarkerVersionId>"
        else:
            self.objects.pop(key, None)
        return ""

    def _DeleteObject(self, request):
        self._remove(request.key, request.query.get("versionId"))
        return Answer(204)

    def _DeleteObjects(self, request):
        if not self.bulk:
            return error_answer(501, "NotImplemented")
        digest = base64.b64encode(hashlib.md5(request.body).digest()).decode()
        if request.headers.get("content-md5") != digest:
            return error_answer(400, "InvalidDigest")
        entries = []
        for part in re.findall(r"<Object>(.*?)</Object>", request.body.decode(), re.S):
            key = _unescape(re.search(r"<Key>(.*?)</Key>", part, re.S)[1])
            version = re.search(r"<VersionId>(.*?)</VersionId>", part)
            marker = self._remove(key, _unescape(version[1]) if version else None)
            said = f"<VersionId>{version[1]}</VersionId>" if version else ""
            entries.append(f"<Deleted><Key>{escape(key)}</Key>{said}{marker}</Deleted>")
        assert len(entries) <= PAGE
        return Answer(200, f"<DeleteResult>{''.join(entries)}</DeleteResult>".encode())

    # --- listings ----------------------------------------------------------------------------------------------------
    def _ListObjectsV2(self, request):
        most = min(int(request.query.get("max-keys", PAGE)), PAGE)
        prefix, after = request.query.get("prefix", ""), request.query.get("start-after", "")
        if self.generated:
            keys, more = self.generated.page(prefix, after, most)
            entry = f"<Size>{self.generated.size}</Size><LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>&quot;0&quot;</ETag>"
            contents = "".join(f"<Contents><Key>{_encode(key)}</Key>{entry}</Contents>" for key in keys)
        else:
            seen = self.keys()
            if self.list_lag:
                newest = sorted(seen, key=lambda key: self.objects[key][-1].time)[-self.list_lag:]
                seen = [key for key in seen if key not in newest]
            keys = [key for key in seen if key.startswith(prefix) and key.encode() > after.encode()]
            keys.sort(key=str.encode)
            more, keys = len(keys) > most, keys[:most]
            contents = "".join(self._contents(key) for key in keys)
        return Answer(200, f"<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url"
                           f"</EncodingType><IsTruncated>{str(more).lower()}</IsTruncated>{contents}"
                           f"</ListBucketResult>".encode())

    def _contents(self, key):
        stored = self.objects[key][-1]
        modified = datetime.fromtimestamp(stored.time + self.skew, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        return (f"<Contents><Key>{_encode(key)}</Key><LastModified>{modified}</LastModified>"
                f"<ETag>&quot;{stored.etag}&quot;</ETag><Size>{len(stored.data)}</Size></Contents>")

    def _ListObjectVersions(self, request):
        entries = []
        for key in sorted(self.objects):
            for number, stored in enumerate(reversed(self.objects[key])):
                if key.startswith(request.query.get("prefix", "")):
                    kind = "DeleteMarker" if stored.marker else "Version"
                    entries.append(f"<{kind}><Key>{_encode(key)}</Key><VersionId>{stored.version}</VersionId><IsLatest>"
                                   f"{str(number == 0).lower()}</IsLatest><Size>{len(stored.data)}</Size></{kind}>")
        most = int(request.query.get("max-keys", PAGE))
        return Answer(200, f"<ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>"
                           f"{str(len(entries) > most).lower()}</IsTruncated>{''.join(entries[:most])}"
                           f"</ListVersionsResult>".encode())

    def _GetBucketVersioning(self, _request):
        status = "<Status>Enabled</Status>" if self.versioned else ""
        return Answer(200, f"<VersioningConfiguration>{status}</VersioningConfiguration>".encode())

    def _GetObjectLockConfiguration(self, _request):
        return error_answer(404, "ObjectLockConfigurationNotFoundError")

    # --- uploads in parts --------------------------------------------------------------------------------------------
    def _CreateMultipartUpload(self, request):
        upload = str(uuid.uuid4())
        self.uploads[upload] = (request.key, {}, time.time())
        return Answer(200, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId>"
                           f"</InitiateMultipartUploadResult>".encode())

    def _UploadPart(self, request):
        upload = self.uploads.get(request.query["uploadId"])
        if upload is None:
            return error_answer(404, "NoSuchUpload")
        upload[1][int(request.query["partNumber"])] = request.body
        return Answer(200, headers={"ETag": f'"{hashlib.md5(request.body).hexdigest()}"'})

    def _CompleteMultipartUpload(self, request):
        upload = self.uploads.get(request.query["uploadId"])
        if upload is None:
            return error_answer(404, "NoSuchUpload")
        refusal = self._taken(request)
        if refusal:
            return refusal
        numbers = [int(number) for number in re.findall(r"<PartNumber>(\d+)</PartNumber>", request.body.decode())]
        if numbers != sorted(upload[1]):
            return error_answer(400, "InvalidPart")
        del self.uploads[request.query["uploadId"]]
        self.put(request.key, b"".join(upload[1][number] for number in numbers))
        etag = f"{self.objects[request.key][-1].etag}-{len(numbers)}"
        self.objects[request.key][-1].etag = etag
        return Answer(200, f"<CompleteMultipartUploadResult><ETag>&quot;{etag}&quot;</ETag>"
                           f"</CompleteMultipartUploadResult>".encode())

    def _AbortMultipartUpload(self, request):
        return Answer(204) if self.uploads.pop(request.query["uploadId"], None) else error_answer(404, "NoSuchUpload")

    def _ListMultipartUploads(self, request):
        most = min(int(request.query.get("max-uploads", PAGE)), PAGE)
        after = (request.query.get("key-marker", ""), request.query.get("upload-id-marker", "\U0010ffff"))
        found = sorted((key, upload, begun) for upload, (key, _, begun) in self.uploads.items()
                       if key.startswith(request.query.get("prefix", "")) and (key, upload) > after)
        more, found = len(found) > most, found[:most]
        entries = "".join(
            f"<Upload><Key>{_encode(key)}</Key><UploadId>{upload}</UploadId><Initiated>"
            f"{datetime.fromtimestamp(begun, timezone.utc).strftime('%Y-%m-%dT%H:%M:%S.000Z')}</Initiated></Upload>"
            for key, upload, begun in found)
        if more:
            entries += (f"<NextKeyMarker>{_encode(found[-1][0])}</NextKeyMarker>"
                        f"<NextUploadIdMarker>{found[-1][1]}</NextUploadIdMarker>")
        return Answer(200, f"<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>"
                           f"{str(more).lower()}</IsTruncated>{entries}</ListMultipartUploadsResult>".encode())

    # --- where credentials come from -----------------------------------------------------------------------------------
    def _AssumeRole(self, request):
        sent = urllib.parse.parse_qs(request.body.decode())
        if sent.get("WebIdentityToken") != [self.credentials.get("web_token", "web")]:
            return Answer(400, b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code><Message>not that one</Message>"
                               b"</Error></ErrorResponse>")
        made = self.credentials
        return Answer(200, f"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
                           f"<AccessKeyId>sts</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>"
                           f"<SessionToken>{made['token']}</SessionToken><Expiration>{made['expires']}</Expiration>"
                           f"</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>".encode())

    def _Metadata(self, request):
        if request.method == "PUT":
            return Answer(200, b"session")
        if request.headers.get("x-aws-ec2-metadata-token") != "session":
            return Answer(401)
        if request.key.endswith("/"):
            return Answer(200, b"the-role\n")
        return Answer(200, json.dumps({"Code": "Success", "AccessKeyId": "imds", "SecretAccessKey": "secret",
                                       "Token": self.credentials["token"],
                                       "Expiration": self.credentials["expires"]}).encode())


def _encode(text):
    return urllib.parse.quote(text, safe="/-_.*")


def _unescape(text):
    return re.sub(r"&#(\d+);|&(amp|lt|gt);",
                  lambda m: chr(int(m[1])) if m[1] else {"amp": "&", "lt": "<", "gt": ">"}[m[2]], text)


def _operation(method, key, query):
    if key:
        if "uploads" in query:
            return "CreateMultipartUpload"
        if "uploadId" in query:
            return {"PUT": "UploadPart", "POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload"}[method]
        return {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject", "DELETE": "DeleteObject"}[method]
    for name, op in (("delete", "DeleteObjects"), ("list-type", "ListObjectsV2"), ("versions", "ListObjectVersions"),
                     ("uploads", "ListMultipartUploads"), ("versioning", "GetBucketVersioning"),
                     ("object-lock", "GetObjectLockConfiguration")):
        if name in query:
            return op
    raise ValueError(f"{method} of the bucket with {query}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None
    wbufsize = -1
    disable_nagle_algorithm = True

    def _serve(self):
        peer = self.owner
        split = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True))
        path = urllib.parse.unquote(split.path)
        headers = {name.lower(): value for name, value in self.headers.items()}
        if path.startswith("/latest/"):
            op, key = "Metadata", path
        elif path == "/" and self.command == "POST" and not query:
            op, key = "AssumeRole", ""
        else:
            virtual = headers.get("host", "").startswith(f"{peer.bucket}.")
            bucket, _, key = (peer.bucket, "", path[1:]) if virtual else path[1:].partition("/")
            if bucket != peer.bucket:
                self._send(error_answer(404, "NoSuchBucket"))
                return
            op = _operation(self.command, key, query)
        if peer.cuts[op] > 0:
            peer.cuts[op] -= 1
            self.rfile.read(int(headers["content-length"]) // 2)
            self.close_connection = True
            return
        body = self.rfile.read(int(headers.get("content-length", 0)))
        if len(body) < int(headers.get("content-length", 0)):
            self.close_connection = True
            return
        try:
            self._send(peer.answer(Request(op, self.command, key, query, headers, body)))
        except Dropped:
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _serve

    def _send(self, answer):
        self.send_response_only(answer.status)
        length = {} if answer.again else {"Content-Length": str(len(answer.body))}
        headers = {**length, "Date": formatdate(self.owner.now(), usegmt=True),
                   "x-amz-request-id": f"req-{next(_numbers)}", **answer.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        while answer.again and not self.owner.ended.is_set():
            self.wfile.write(answer.again)
        self.wfile.flush()
        if headers.get("Connection") == "close":
            self.close_connection = True

    def handle(self):
        self.owner.connections += 1
        try:
            super().handle()
        except OSError:
            pass  # whoever asked has hung up

    def log_message(self, *_):
        pass
