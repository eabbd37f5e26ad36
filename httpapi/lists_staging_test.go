package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fastjson"
)

// Staging, the list's own page and activation say the same, in the same words.
func TestStagingSaysWhatActivationSays(t *testing.T) {
	n := listNode(t)
	base := n.upload("SDN.CSV", "2026-03-10;"+manyNames(40))
	answer(t, n.do("policy", "POST", "/v1/ofac/"+base+"/activate", ""), 200)
	texts := func(v *fastjson.Value, path ...string) (all []string) {
		for _, item := range v.GetArray(path...) {
			if item.Type() == fastjson.TypeObject {
				item = item.Get("message")
			}
			all = append(all, string(item.GetStringBytes()))
		}
		return all
	}
	for name, content := range map[string]string{
		"60 % of it": "2026-03-11;" + manyNames(24), "older": "2026-03-09;" + manyNames(40), "the same date without one": "2026-03-10;" + manyNames(39),
		"the future": "2027-06-10;" + manyNames(41), "nobody": "2026-03-11", "suspicious": "2026-03-11;" + manyNames(41), "good": "2026-03-11;" + manyNames(42),
	} {
		t.Run(name, func(t *testing.T) {
			file := "SDN.CSV"
			if name == "suspicious" {
				file = name
			}
			staged := answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?replace=true&name="+file, content), 201)
			id, told := textOf(staged, "snapshotId"), texts(staged, "problems")
			shown := answer(t, n.do("reviewer", "GET", "/v1/ofac/"+id, ""), 200)
			require.Equal(t, told, texts(shown, "problems"))
			require.Equal(t, staged.Get("left").String(), shown.Get("left").String())
			if name == "good" {
				require.Empty(t, told)
				return
			}
			v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", ""), 422)
			require.Equal(t, told, texts(v, "details"))
			require.Contains(t, textOf(v, "message"), told[0])
		})
	}
	id := textOf(answer(t, n.doAdmin("POST", "/v1/ofac/snapshots?replace=true&name=SDN.CSV", "2027-06-10;"+manyNames(41)), 201), "snapshotId")
	v := answer(t, n.do("policy", "POST", "/v1/ofac/"+id+"/activate", `{"force":true,"reason":"x"}`), 422)
	require.Contains(t, textOf(v, "details", "0", "message"), "future: ")
}
