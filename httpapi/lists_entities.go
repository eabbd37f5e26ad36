package httpapi

import (
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
)

// ListFiles reads the canonical bytes of a list by its digest: those of lists that were
// active in the last 90 days. os.ErrNotExist: this node does not hold it.
type ListFiles func(digest [32]byte) ([]byte, error)

// ListsIn reads them from a node's folder of lists.
func ListsIn(folder string) ListFiles {
	return func(digest [32]byte) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, hex.EncodeToString(digest[:])+".entities"))
	}
}

// listEntities is GET /v1/ofac/{id}/entities: a list as it stands in the log, whose
// SHA-256 is its name, so that decisions can be made again elsewhere.
func listEntities(c *call) (Answer, error) {
	raw, err := hex.DecodeString(c.r.PathValue("id"))
	if err != nil || len(raw) != 32 || hex.EncodeToString(raw) != c.r.PathValue("id") {
		return Answer{}, notFound("a list is named here by its sha256, in 64 hexadecimal digits")
	}
	if c.api.deps.ListFiles == nil {
		return Answer{}, notFound("this server keeps no lists")
	}
	data, err := c.api.deps.ListFiles([32]byte(raw))
	if errors.Is(err, os.ErrNotExist) {
		return Answer{}, unavailable("sanctions_data_unavailable", "this node does not hold that list: another may; lists are kept for 90 days")
	}
	if err != nil {
		return Answer{}, err
	}
	c.header("Cache-Control", "private, max-age=86400, immutable")
	return c.send(http.StatusOK, bytesType, data), nil
}
