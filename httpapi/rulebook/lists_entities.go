package rulebook

import (
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"

	"railguard/httpapi/border"
)

// ListFiles reads the canonical bytes of a list by its digest, for lists that were active
// in the last 90 days. os.ErrNotExist: this node does not have it.
type ListFiles func(digest [32]byte) ([]byte, error)

// ListsIn reads lists from a node's folder.
func ListsIn(folder string) ListFiles {
	return func(digest [32]byte) ([]byte, error) {
		return os.ReadFile(filepath.Join(folder, hex.EncodeToString(digest[:])+".entities"))
	}
}

// listEntities is GET /v1/ofac/{id}/entities: a list as the log holds it, named by its
// SHA-256, so that others can repeat decisions.
func (b *Room) listEntities(c *border.Request) (border.Answer, error) {
	raw, err := hex.DecodeString(c.PathValue("id"))
	if err != nil || len(raw) != 32 || hex.EncodeToString(raw) != c.PathValue("id") {
		return border.Answer{}, border.NotFound("a list is named here by its sha256, in 64 hexadecimal digits")
	}
	if b.deps.ListFiles == nil {
		return border.Answer{}, border.NotFound("this server keeps no lists")
	}
	data, err := b.deps.ListFiles([32]byte(raw))
	if errors.Is(err, os.ErrNotExist) {
		return border.Answer{}, border.Unavailable("sanctions_data_unavailable", "this node does not hold that list: another may; lists are kept for 90 days")
	}
	if err != nil {
		return border.Answer{}, err
	}
	c.SetHeader("Cache-Control", "private, max-age=86400, immutable")
	return c.Send(http.StatusOK, border.BytesType, data), nil
}
