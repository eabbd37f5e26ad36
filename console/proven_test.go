package console_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProvenBytes: what a case shows is held against the bytes that the proof covers. What a node, or
// somebody on the way, says otherwise is not shown as proven, and is not shown at all.
func TestProvenBytes(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	dana := s.key("Dana", "reviewer")
	s.call(0, dana, "POST", "/v1/queue/"+d.name+"/comment", `{"comment":"Another man: born 1975.","by":"Dana"}`, 200)
	s.call(0, dana, "POST", "/v1/reviews/"+d.name, `{"disposition":"APPROVED","reviewedBy":"Dana","notes":"Somebody else of that name."}`, 200)
	b := stand(t, s.Nodes[0].HTTP)
	w := s.behind(b)
	w.signIn(dana)
	for _, id := range []string{d.limit, d.model, d.stale, d.more[0]} {
		w.at("/case/"+id, "$")
		w.shows("#proof", "proof verified in your browser")
	}
	w.at("/case/"+d.name, "$120.00 to Nikolas Maduro")
	w.shows("#proof", "proof verified in your browser")
	for name, altered := range map[string][2]string{
		"reviewedBy":        {`"reviewedBy":"Dana"`, `"reviewedBy":"Somebody Else"`},
		"notes":             {`Somebody else of that name.`, `The same man.`},
		"_request":          {`"cpName":"Nikolas Maduro"`, `"cpName":"Nikolas Schmidt"`},
		"comments":          {`born 1975.`, `born 1962.`},
		"matches":           {`"uid":"`, `"uid":"9`},
		"verdict":           {`"verdict":"REVIEW"`, `"verdict":"PROCEED"`},
		"operatorLegalName": {`"operatorLegalName":"Acme Robotics Inc"`, `"operatorLegalName":"Nobody Ltd"`},
	} {
		b.alters(func(path string, body []byte) []byte {
			if path != "/console/api/audit/"+d.name {
				return body
			}
			return bytes.Replace(body, []byte(altered[0]), []byte(altered[1]), 1)
		})
		w.at("/case/"+d.name, "$120.00")
		w.shows("#proof", "this node told something else than is proven: "+name)
		require.Contains(t, w.value(`document.getElementById('proof').className`), "bad", name)
		told := strings.Trim(altered[1][strings.LastIndex(altered[1], ":")+1:], `"`)
		if name != "verdict" && name != "matches" {
			require.NotContains(t, w.value(`document.querySelector('main').innerText`), told, name)
		}
		w.shows("h1", "$120.00 to Nikolas Maduro")
		w.shows(".note", "by Dana")
	}

	// A proof that was altered proves nothing.
	b.alters(func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/proof") {
			return bytes.Replace(body, []byte("Somebody else of that name."), []byte("The same man, of that name.."), 1)
		}
		return body
	})
	w.at("/case/"+d.name, "$120.00")
	w.shows("#proof", "proof not verified")
	w.clean()
}
