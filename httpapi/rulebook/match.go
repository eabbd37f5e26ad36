package rulebook

import (
	"net/http"
	"unicode/utf8"

	"railguard/edge"
	"railguard/engine"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/ofac"
)

// matchName is GET /v1/match?name=&wallet=&cpType=: the matches that a screening call would
// find, on the active list or on the one that snapshotId names. It changes nothing and leaves no record.
func (b *Room) matchName(c *border.Request) (border.Answer, error) {
	name, wallet := c.Query("name"), c.Query("wallet")
	kind := ofac.PartyUnknown
	for _, parameter := range []string{"cpType", "type"} { // Two names of one parameter.
		if text := c.Query(parameter); text != "" {
			said, known := engine.ParsePartyType(text)
			if !known {
				return border.Answer{}, border.BadQuery(parameter, "must be individual, business or exchange")
			}
			if kind != ofac.PartyUnknown && said != kind {
				return border.Answer{}, border.BadQuery(parameter, "must not be another one than cpType")
			}
			kind = said
		}
	}
	switch {
	case name == "" && wallet == "":
		return border.Answer{}, &border.Error{
			Status: http.StatusUnprocessableEntity, Code: "missing_field", Param: "name",
			Message: "name or wallet is required",
		}
	case utf8.RuneCountInString(name) > engine.NameRunesMax:
		return border.Answer{}, border.BadQuery("name", "must have at most 512 characters")
	case len(wallet) > engine.FieldMax:
		return border.Answer{}, border.BadQuery("wallet", "must have at most 256 bytes")
	}
	if _, err := c.NormaliseQuery("name", ofac.NormaliseName); err != nil {
		return border.Answer{}, err
	}
	if _, err := c.NormaliseQuery("wallet", engine.CanonicalWallet); err != nil {
		return border.Answer{}, err
	}
	list, info, err := b.askedList(c)
	if err != nil {
		return border.Answer{}, err
	}
	question := edge.MatchQuestion{Name: name, Wallet: wallet, Type: kind, Info: info}
	if err := matchContext(c, &question); err != nil {
		return border.Answer{}, err
	}
	if id := c.Query("txnId"); id != "" {
		record, err := c.Judge.Record(id)
		if err != nil {
			return border.Answer{}, err
		}
		question.Record = &record
	}
	m, err := c.Judge.Matches(&question, list)
	if err != nil {
		return border.Answer{}, err
	}
	return c.Reply(http.StatusOK, m), nil
}

// askedList is the list that a question is for.
func (b *Room) askedList(c *border.Request) (*ofac.Index, *wire.ListInfo, error) {
	id := c.Query("snapshotId")
	if id == "" {
		list, err := c.Judge.ActiveList()
		return list, nil, err
	}
	info, err := knownList(c, id)
	if err != nil {
		return nil, nil, err
	}
	list, err := b.openList(c, info)
	return list, info, err
}

// matchContext reads cpCountry, cpDateOfBirth, cpAddress and explain.
func matchContext(c *border.Request, question *edge.MatchQuestion) error {
	for _, parameter := range []struct {
		name string
		into *string
	}{
		{"cpCountry", &question.Context.Country}, {"cpDateOfBirth", &question.Context.BirthDate}, {"cpAddress", &question.Context.Address},
	} {
		*parameter.into = c.Query(parameter.name)
		if !utf8.ValidString(*parameter.into) || len(*parameter.into) > engine.FieldMax {
			return border.BadQuery(parameter.name, "must be UTF-8 of at most 256 bytes")
		}
	}
	switch text := c.Query("explain"); text {
	case "", "false":
	case "true":
		question.Explain = true
	default:
		return border.BadQuery("explain", "must be true or false")
	}
	return nil
}
