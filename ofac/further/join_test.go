package further

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"railguard/ofac"
)

func ofacAlone() Snapshot {
	return Snapshot{Entities: []ofac.Entity{{UID: 7, Type: ofac.Company, Lists: ofac.ListSDN, Names: []ofac.Name{{Primary: true, Full: "ACME"}}}}, Meta: ofac.Meta{Source: "SDN_CSV 2026-01-01"}}
}

func ownPart(t testing.TB, ids ...string) *Part {
	part := &Part{Format: FormatOwn}
	for i, id := range ids {
		row := Row{ID: id, Kind: "company", Name: fmt.Sprintf("Name %d of %s", i, id)}
		entity, err := row.Entity(i + 1)
		require.NoError(t, err)
		part.Entities = append(part.Entities, entity)
	}
	return part
}

// A list takes the place of what it held, its entities keep their numbers, and the other lists stay
// as they are; a file of OFAC's says nothing of the lists beside it.
func TestReplace(t *testing.T) {
	house := ofac.Further{ID: "house", Name: "House list", Format: FormatOwn}
	other := ofac.Further{ID: "other", Name: "Other list", Format: FormatOwn, Blocks: true}
	base := ofacAlone()
	one, err := base.Replace(house, ownPart(t, "a", "b", "c"))
	require.NoError(t, err)
	two, err := one.Replace(other, ownPart(t, "a", "x"))
	require.NoError(t, err)
	require.Len(t, two.Entities, 6)
	require.Equal(t, "SDN_CSV 2026-01-01 + house_OWN + other_OWN", two.Meta.Source)
	uids := func(s *Snapshot, id string) map[string]uint32 {
		all := map[string]uint32{}
		for _, entity := range s.EntitiesOf(s.Meta.FurtherNamed(id)) {
			all[entity.ID] = entity.UID
		}
		return all
	}
	before := uids(&two, "house")
	house.Blocks, house.Name = true, "House list, stricter"
	three, err := two.Replace(house, ownPart(t, "d", "b", "a"))
	require.NoError(t, err)
	after := uids(&three, "house")
	require.Len(t, after, 3)
	require.Equal(t, before["a"], after["a"])
	require.Equal(t, before["b"], after["b"])
	require.Equal(t, uids(&two, "other"), uids(&three, "other"))
	require.Len(t, three.Meta.Further, 2)
	require.Equal(t, "SDN_CSV 2026-01-01 + house_OWN + other_OWN", three.Meta.Source)
	for _, entity := range three.EntitiesOf(three.Meta.FurtherNamed("house")) {
		require.True(t, entity.Lists.Block())
	}
	_, err = ofac.Build(three.Entities, three.Meta)
	require.NoError(t, err)

	next := ofacAlone()
	next.Meta.Source = "SDN_CSV 2026-01-02"
	joined := next.Under(&three)
	require.Equal(t, three.Meta.Further, joined.Meta.Further)
	require.Equal(t, "SDN_CSV 2026-01-02 + house_OWN + other_OWN", joined.Meta.Source)
	require.Len(t, joined.Entities, 6)
	was, err := three.Sum(three.Meta.FurtherNamed("house"))
	require.NoError(t, err)
	is, err := joined.Sum(joined.Meta.FurtherNamed("house"))
	require.NoError(t, err)
	require.Equal(t, was, is)

	left, err := joined.Without("other")
	require.NoError(t, err)
	require.Len(t, left.Entities, 4)
	require.Equal(t, "SDN_CSV 2026-01-02 + house_OWN", left.Meta.Source)
	_, err = left.Without("other")
	require.Error(t, err)
}

// Ids whose hashes are the same get different numbers, and keep them when the other one leaves.
func TestNumbersStay(t *testing.T) {
	list := ofac.Further{Number: 3}
	n := numbering{list: &list, of: map[string]uint32{}, taken: map[uint32]bool{}}
	first, err := n.next(&ofac.Entity{ID: "a", UID: 1<<28 - 1})
	require.NoError(t, err)
	second, err := n.next(&ofac.Entity{ID: "b", UID: 1<<28 - 1})
	require.NoError(t, err)
	require.Equal(t, uint32(3<<28|(1<<28-1)), first)
	require.Equal(t, uint32(3<<28|1), second, "zero is no number")
}

func TestListsAreBounded(t *testing.T) {
	s := ofacAlone()
	var err error
	for i := range ofac.FurtherMax {
		s, err = s.Replace(ofac.Further{ID: fmt.Sprintf("l%d", i), Name: fmt.Sprintf("List %d", i), Format: FormatOwn}, ownPart(t, "a"))
		require.NoError(t, err)
	}
	_, err = s.Replace(ofac.Further{ID: "more", Name: "More", Format: FormatOwn}, ownPart(t, "a"))
	require.ErrorContains(t, err, "15 lists")
	_, err = ofac.EncodeEntities(s.Entities, s.Meta)
	require.NoError(t, err)
	_, err = s.Replace(ofac.Further{ID: "SDN", Name: "x", Format: FormatOwn}, ownPart(t, "a"))
	require.Error(t, err)
}
