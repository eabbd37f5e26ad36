package load

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// soakCourse is a made-up soak of ten minutes: four rounds of work, a stall of three seconds, some
// refusals.
func soakCourse() Course {
	c := Course{Name: "soak <made up>, 8000/s", Rate: 8000, Span: 600}
	for at := range 600 {
		wave := 1 + math.Abs(math.Sin(float64(at)/7))
		s := Second{Done: 8000, P50: 1.2 * wave, P99: 5 * wave, Max: 14 * wave * (1 + float64(at%5)/4), Cores: 1.4 + 0.05*float64(at%7)}
		switch {
		case at >= 230 && at < 233:
			s = Second{Cores: 2}
		case at == 233:
			s.Done, s.P99, s.Max, s.Failed = 31000, 2900, 3100, map[string]int64{"503 overloaded": 700, "connection: reset": 3}
		case at >= 380 && at < 384:
			s.P99, s.Max, s.Failed = 80, 240, map[string]int64{"503 overloaded": 150}
		}
		c.Seconds = append(c.Seconds, s)
	}
	for round := range 4 {
		at := 75 + 150*float64(round)
		c.Work = append(c.Work, Work{Kind: workList, Name: "list", Begin: at, Staged: at + 8, End: at + 12})
		for node := range 3 {
			c.Work = append(c.Work, Work{Kind: workSnapshot, Name: "node", Begin: at + 12 + float64(node), End: at + 12.8 + float64(node)})
		}
		c.Work = append(c.Work, Work{Kind: workBacktest, Name: "asked for", Begin: at + 15, End: at + 40},
			Work{Kind: workScreening, Name: "a list was activated", Begin: at + 13, End: min(at+80, 600), Open: round == 3})
	}
	c.Work = append(c.Work, Work{Kind: workList, Name: "bad list", Begin: 560, End: 570, Failed: "503 <overloaded>"})
	return c
}

// TestPicture: the drawing is well-formed markup without a script or anything fetched, everything
// in it is within its borders, each kind of work has its own dashes, and it says in words what it shows.
func TestPicture(t *testing.T) {
	c := soakCourse()
	r := Report{Courses: []Course{c}}
	var out bytes.Buffer
	require.NoError(t, r.WriteHTML(&out))
	for _, banned := range []string{"<script", "src=", "href=", "url(", "@import", "<made", "<overloaded>"} {
		require.NotContains(t, out.String(), banned)
	}
	require.Contains(t, out.String(), "Without any answer: second 230 to 232.")
	require.Contains(t, out.String(), "700 × 503 overloaded")

	drawn := string(c.svg(1))
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	ids, named := map[string]bool{}, ""
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if start, ok := token.(xml.StartElement); ok {
			for _, a := range start.Attr {
				switch a.Name.Local {
				case "id":
					ids[a.Value] = true
				case "aria-labelledby":
					named = a.Value
				}
				require.NotContains(t, a.Value, "NaN")
				require.NotContains(t, a.Value, "Inf")
			}
		}
	}
	for _, id := range strings.Fields(named) {
		require.True(t, ids[id], id)
	}
	require.Len(t, ids, 2)
	require.Contains(t, drawn, "Work of the kind screening of the past: 4 times.")
	require.Contains(t, drawn, ">S1–3<", "three snapshots a second apart have one label")
	require.Contains(t, drawn, ">L5 ✕<", "work that failed is marked without colour")
	dashes := map[string]bool{}
	for _, kind := range workKinds {
		dashes[workDashes[kind]] = true
	}
	require.Len(t, dashes, len(workKinds))
	require.Equal(t, 2+2, strings.Count(drawn, "<polyline"), "the stall leaves a gap in both curves")
}

func TestWorstSeconds(t *testing.T) {
	c := soakCourse()
	worst := c.worstSeconds(worstShown)
	require.Len(t, worst, worstShown)
	require.Equal(t, []int{233, 380, 381, 382, 383}, worst[:5])
	require.Equal(t, []int{230, 231, 232}, c.silentSeconds())
	calm := Course{Seconds: make([]Second, 300), Work: c.Work}
	require.Equal(t, []string{"S5", "P2"}, calm.beside(238), "a screening from 238 on, and no snapshot that ended before")
	c.Seconds[238].Max = 15_000
	require.Contains(t, c.beside(238), "L2", "its slowest call was due while the list was staged")
	require.NotContains(t, c.beside(222), "L2")
	require.Equal(t, "1, 3 to 5, 9", ranges([]int{1, 3, 4, 5, 9}))
}

// TestPicturesOfLittle: pictures of the least there is, and of values that no load has, are drawn or refused.
func TestPicturesOfLittle(t *testing.T) {
	for name, c := range map[string]Course{
		"one second":      {Span: 1, Seconds: []Second{{Done: 1, P99: 1, Max: 1}}},
		"no answer":       {Span: 2, Seconds: []Second{{}, {Failed: map[string]int64{"503 overloaded": 2}}}},
		"great latencies": {Span: 1, Seconds: []Second{{Done: 1, P99: 1e200, Max: 1e300}}},
		"a day of load":   {Span: 86400, Seconds: make([]Second, windowsMax)},
		"no time at all":  {Seconds: []Second{{Done: 1}}},
		"work elsewhere":  {Span: 1, Seconds: []Second{{Done: 1, P99: -1}}, Work: []Work{{Kind: workList, Begin: -1e9, End: 1e9}}},
	} {
		require.NoError(t, c.check(), name)
		drawn := string(c.svg(1))
		require.NotContains(t, drawn, "NaN", name)
		require.NotContains(t, drawn, "Inf", name)
		c.page(1)
	}
	for name, c := range map[string]Course{
		"no second":    {Span: 1},
		"an age":       {Span: 1, Seconds: make([]Second, windowsMax+1)},
		"other work":   {Span: 1, Seconds: make([]Second, 1), Work: []Work{{Kind: "nap"}}},
		"less than no": {Span: -1, Seconds: make([]Second, 1)},
	} {
		require.Error(t, (&Report{Courses: []Course{c}}).WriteHTML(io.Discard), name)
	}
}
