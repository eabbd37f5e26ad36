package httpapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlaces: an embargoed place blocks, the record names what was read, and one officer alone puts no
// licence in force.
func TestPlaces(t *testing.T) {
	n := newTestNode(t)
	_, token := n.register("")
	require.Equal(t, "BLOCK R24_JURISDICTION", verdict(t, n.screen(token, `,"cpCountry":"Islamic Republic of Iran"`)))
	require.Equal(t, "REVIEW R20_COUNTERPARTY", verdict(t, n.screen(token, `,"cpAddress":"Valiasr 1, Tehran"`)))
	paid := n.screen(token, `,"cpCountry":"UA","cpRegion":"Krym"`)
	record := n.do("admin", "GET", "/v1/audit/"+member(t, paid.Body.Bytes(), "txnId"), "").Body.String()
	require.Contains(t, record, `{"member":"cpRegion","read":"UA-43","outcome":"blocked"}`)
	licence := `{"policy":{"jurisdictions":{"exemptions":[{"id":"gl-8","licence":"31 CFR 560.530","countries":["IR"],"from":"2020-01-01","until":"2099-12-31","reason":"medicine"}]}},"reason":"a licence"}`
	put := n.do("admin", "PUT", "/v1/policy", licence)
	require.Equal(t, 202, put.Code, put.Body.String())
	require.Equal(t, "BLOCK R24_JURISDICTION", verdict(t, n.screen(token, `,"cpCountry":"IR"`)))
}
