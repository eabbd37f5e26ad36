"""The keys that a service publishes."""

from .verify import TokenError

_KEPT = 3600  # Seconds.
_PAUSE = 60  # Between two readings of the keys for a kid that they lack.


class Published:
    """Keeps the keys for an hour, and reads them again before that, at most once a minute, if one is missing."""

    def __init__(self, client, now):
        self._client, self._now, self._keys, self._at = client, now, None, 0

    def use(self, do):
        """Call do with the keys, and once more with new ones if they lack one."""
        if self._keys is None or self._now() - self._at >= _KEPT:
            self._read()
        try:
            return do(self._keys)
        except TokenError as error:
            if error.code != "unknown_key" or self._now() - self._at < _PAUSE:
                raise
        self._read()
        return do(self._keys)

    def _read(self):
        self._keys, self._at = self._client.jwks(), self._now()
