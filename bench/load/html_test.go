package load

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHTML: the page is one file that fetches nothing, the texts of a report cannot become
// markup, and the curves rise to the right.
func TestHTML(t *testing.T) {
	curve := Curve{Name: "<script>alert(1)</script>", Done: 5}
	for i := range curveQuantiles {
		curve.Quantiles = append(curve.Quantiles, float64(i+1))
	}
	r := &Report{
		Version: "1", Curves: []Curve{curve}, Notes: []string{"<b>"},
		Rows: []Row{{Target: Target{Suite: "cluster", Name: "x", Must: 1}, Outcome: Missed, Judged: 2, Measured: 2}},
	}
	var out bytes.Buffer
	require.NoError(t, r.WriteHTML(&out))
	require.NotContains(t, out.String(), "<script")
	require.NotContains(t, out.String(), "<b>")
	for _, fetched := range []string{"src=", "href=", "url(", "@import"} {
		require.NotContains(t, out.String(), fetched)
	}
	require.Contains(t, out.String(), `class="missed"`)

	drawing := xml.NewDecoder(strings.NewReader(string(curve.svg())))
	for {
		_, err := drawing.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.Less(t, across(50), across(99))
	require.Less(t, across(99.9), across(100)+1)
	require.Greater(t, down(1), down(10), "more latency is higher up")

	r.Curves[0].Quantiles = nil
	require.Error(t, r.WriteHTML(io.Discard))
}
