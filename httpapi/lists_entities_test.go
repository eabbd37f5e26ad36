package httpapi

import (
	"context"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/rulebook"
	"railguard/ofac"
)

// An auditor downloads a list by its digest, as the log holds it.
func TestListEntities(t *testing.T) {
	n := newTestNode(t)
	folder := t.TempDir()
	data := []byte("the entities of a list")
	digest := ofac.Digest(data)
	name := hex.EncodeToString(digest[:])
	require.NoError(t, os.WriteFile(filepath.Join(folder, name+".entities"), data, 0o600))
	require.Equal(t, 404, n.do("auditor", "GET", "/v1/ofac/"+name+"/entities", "").Code, "a server without a folder")
	n.api = n.another(func(d *Deps) { d.ListFiles = rulebook.ListsIn(folder) })
	w := n.do("auditor", "GET", "/v1/ofac/"+name+"/entities", "")
	require.Equal(t, 200, w.Code)
	require.Equal(t, data, w.Body.Bytes())
	w = n.do("auditor", "GET", "/v1/ofac/"+strings.Repeat("0", 64)+"/entities", "")
	require.Equal(t, 503, w.Code, "another node may hold it")
	require.Contains(t, w.Body.String(), "sanctions_data_unavailable")
	for _, id := range []string{"active", name[:62], strings.ToUpper(name), name + "00", "..%2f" + name} {
		require.Equal(t, 404, n.do("auditor", "GET", "/v1/ofac/"+id+"/entities", "").Code, id)
	}
	require.Equal(t, 403, n.do("screener", "GET", "/v1/ofac/"+name+"/entities", "").Code)
	n.api = n.another(func(d *Deps) { d.JoinList = joinNothing })
	answer(t, n.do("policy", "POST", "/v1/lists/SDN/entries", `{"reason":"r","end":["7"]}`), 404) // OFAC's lists have no entries of the institution's.
}

// activate stages and activates a list.
func (n *testNode) activate(entities []ofac.Entity, meta ofac.Meta) {
	n.t.Helper()
	data, err := ofac.EncodeEntities(entities, meta)
	require.NoError(n.t, err)
	index, err := openEntities(data)
	require.NoError(n.t, err)
	counts := index.Counts()
	info := wire.ListInfo{
		Digest: index.Digest(), Source: meta.Source, Sample: meta.Sample, PublishedAt: engine.Time(meta.PublishedAt),
		Entries: uint32(counts.Entries), SDN: uint32(counts.Lists[ofac.SDN]), CONS: uint32(counts.Lists[ofac.CONS]), Size: uint32(len(data)),
	}
	if !meta.Sample {
		info.SDNAsOf = info.PublishedAt
	}
	for _, list := range meta.Further {
		info.Others = append(info.Others, wire.ListSource{Name: list.ID, Entries: 1, Further: &wire.FurtherList{
			Number: list.Number, Name: list.Name, Format: list.Format, Blocks: list.Blocks, AgeMax: engine.Time(list.AgeMax),
		}})
	}
	if active := n.Settings().List; active != nil {
		info.Over = active.Digest[:]
	}
	_, err = n.Stage(context.Background(), data, info, false, wire.Common{})
	require.NoError(n.t, err)
	n.must(wire.KindListActivate, &wire.ListActivate{Digest: info.Digest})
}
