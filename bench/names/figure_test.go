package names

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
	"railguard/ofac/sample"
)

func TestFigureIsWellFormedAndMarksTheThreshold(t *testing.T) {
	require.Zero(t, (ofac.ReviewDefault-figureFirst)%figureStep, "the threshold shipped must be a point of the curves")
	d := Own(sample.Entities())
	o, err := Run(d)
	require.NoError(t, err)
	var drawn strings.Builder
	require.NoError(t, Figure(&drawn, d, o))
	circles, lines := 0, 0
	for decoder := xml.NewDecoder(strings.NewReader(drawn.String())); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "circle" {
			circles++
		} else if ok && element.Name.Local == "polyline" {
			lines++
		}
	}
	require.Equal(t, 4, lines)
	require.Equal(t, 4, circles)
}

// Pairs in other romanisations are found and pairs of different names are not, even in a
// small list, where every word weighs much.
func TestRomanisedPairs(t *testing.T) {
	d := Own(sample.Entities())
	o, err := Run(d)
	require.NoError(t, err)
	found, same := 0, 0
	for i, pair := range d.Pairs {
		flagged := o.Pairs[i].Flagged(ofac.ReviewDefault)
		if pair.Expected != expectedMatch {
			require.False(t, flagged, "%s | %s", pair.Target, pair.Query)
			continue
		}
		if same++; flagged {
			found++
		}
	}
	require.GreaterOrEqual(t, found*100, same*80, "%d of %d", found, same)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestFigureReportsAFailedWrite(t *testing.T) {
	require.ErrorIs(t, Figure(failing{}, &Data{}, &Outcomes{}), io.ErrShortWrite)
}
