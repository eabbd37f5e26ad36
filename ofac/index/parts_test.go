package index

import (
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac/list"
)

// The types of OFAC say which word of a person is what; without types the comma and endings do.
func TestTypedParts(t *testing.T) {
	part := func(kind, value string) list.NamePart { return list.NamePart{Kind: kind, Value: value} }
	for _, test := range []struct {
		name list.Name
		want []NamePart
	}{
		{list.Name{Full: "DOE, John Omar", Parts: []list.NamePart{part(list.KindFirst, "John"), part(list.KindPatronymic, "Omar"), part(list.KindLast, "Doe")}}, []NamePart{PartLast, PartGiven, PartPatronymic}},
		{list.Name{Full: "DOE SMITH, Ana Maria", Parts: []list.NamePart{part(list.KindFirst, "Ana Maria"), part(list.KindMatronymic, "Smith"), part(list.KindLast, "Doe")}}, []NamePart{PartLast, PartLast, PartGiven, partMiddle}},
		{list.Name{Full: "DOE, John Omar"}, []NamePart{PartLast, PartGiven, partMiddle}},
		{list.Name{Full: "DOE, John Petrovich"}, []NamePart{PartLast, PartGiven, PartPatronymic}},
		{list.Name{Full: "DOE, John", Parts: []list.NamePart{part(list.KindLast, "Roe"), part(list.KindPatronymic, "John"), part(list.KindFirst, "X")}}, []NamePart{PartLast, PartGiven}}, // They are of another name.
		{list.Name{Full: "John Omar Doe"}, []NamePart{partMiddle, partMiddle, partMiddle}},
	} {
		var cutter nameCutter
		cutter.tokens.Slips = true
		var got []NamePart
		for _, token := range cutter.cutName(&test.name, true) {
			if token.count == 1 {
				got = append(got, token.part)
			}
		}
		require.Equal(t, test.want, got, test.name.Full)
	}
}
