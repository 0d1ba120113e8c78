"""What a store holds, seen from outside of Granary: a folder, or a prefix of a bucket."""

import os
from pathlib import Path

MARKER = "granary-deployment.json"


class FolderContents:
    def __init__(self, path):
        self.path = Path(path)

    def settings(self):
        return {"GRANARY_STORE_URL": f"file://{self.path}"}

    def keys(self):
        """Of everything, temporary files too."""
        return sorted(str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file())

    def read(self, key):
        """None where there is no such object."""
        path = self.path / key
        return path.read_bytes() if path.exists() else None

    def write(self, key, data):
        path = self.path / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def delete(self, key):
        os.unlink(self.path / key)


class BucketContents:
    """`client`: an S3Client. `url`: of the store, for the services."""

    def __init__(self, client, bucket, prefix, url):
        self.client, self.bucket, self.prefix, self.url = client, bucket, prefix, url

    def settings(self):
        return {"GRANARY_STORE_URL": self.url, "GRANARY_STORE_ACCESS_KEY_ID": self.client.key,
                "GRANARY_STORE_SECRET_ACCESS_KEY": self.client.secret}

    def keys(self):
        """Of everything, uploads that nobody finished too."""
        found = self.client.objects(self.bucket, self._whole(""))
        return sorted([key.removeprefix(self._whole("")) for key in found] + self.open_uploads())

    def open_uploads(self):
        return [f"{key} (unfinished)" for key in self.client.uploads(self.bucket) if key.startswith(self._whole(""))]

    def read(self, key):
        status, _, body = self.client.request("GET", f"/{self.bucket}/{self._whole(key)}")
        assert status in (200, 404), body
        return body if status == 200 else None

    def write(self, key, data):
        self.client.put(self.bucket, self._whole(key), data)

    def delete(self, key):
        self.client.delete(self.bucket, self._whole(key))

    def _whole(self, key):
        return f"{self.prefix}/{key}" if self.prefix else key


class PeerContents:
    """A prefix of the bucket of an S3 server that misbehaves on request."""

    def __init__(self, peer, prefix):
        self.peer, self.prefix = peer, prefix

    def settings(self):
        return self.peer.settings(self.prefix)

    def keys(self):
        """Of everything, uploads that nobody finished too."""
        uploads = [f"{key} (unfinished)" for key, _, _ in list(self.peer.uploads.values())]
        return sorted(key.removeprefix(f"{self.prefix}/") for key in [*self.peer.keys(), *uploads]
                      if key.startswith(f"{self.prefix}/"))

    def read(self, key):
        return self.peer.data(f"{self.prefix}/{key}") if key in self.keys() else None

    def write(self, key, data):
        self.peer.put(f"{self.prefix}/{key}", data)

    def delete(self, key):
        del self.peer.objects[f"{self.prefix}/{key}"]
