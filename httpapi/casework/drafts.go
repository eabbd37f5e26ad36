package casework

import (
	"net/http"

	"railguard/edge/desk"
	"railguard/fsm"
	"railguard/fsm/wire"
	"railguard/httpapi/border"
	"railguard/strictjson"
)

// Drafts are what a person typed and did not send yet. They are no part of the record: nobody but
// their own person reads them, and they are gone after two weeks (decision 145).

func draftRoutes() []border.Route {
	return []border.Route{
		{Method: http.MethodGet, Path: "/v1/drafts", Reserved: true, Handle: listDrafts},
		{Method: http.MethodGet, Path: "/v1/drafts/{name}", Reserved: true, Handle: showDraft},
		{Method: http.MethodPut, Path: "/v1/drafts/{name}", Reserved: true, Handle: putDraft},
		{Method: http.MethodDelete, Path: "/v1/drafts/{name}", Reserved: true, Handle: dropDraft},
	}
}

// drafter returns whose drafts the caller's are.
func drafter(c *border.Request, view *fsm.View) wire.Subject {
	return ownKey(c, view).Subject()
}

func writeDraft(m *strictjson.Members, draft *fsm.Draft, whole bool) {
	m.Text("name", draft.Name)
	m.Time("savedAt", draft.At)
	m.Time("expiresAt", draft.Until)
	if !whole {
		return
	}
	m.Text("text", draft.Said.Text)
	var fields strictjson.Members
	for _, field := range draft.Said.Fields {
		fields.Text(field.Name, field.Value)
	}
	m.Object("fields", fields)
}

// listDrafts is GET /v1/drafts: the names of the caller's drafts, newest first.
func listDrafts(c *border.Request) (border.Answer, error) {
	view, err := c.Judge.View()
	if err != nil {
		return border.Answer{}, err
	}
	drafts := view.Drafts(drafter(c, view))
	items := make([]strictjson.Members, len(drafts))
	for i := range drafts {
		writeDraft(&items[i], &drafts[i], false)
	}
	c.Judge.Index = view.Index
	var m strictjson.Members
	m.List("data", items)
	m.Uint("asOfIndex", view.Index)
	return c.Reply(http.StatusOK, m), nil
}

// showDraft is GET /v1/drafts/{name}.
func showDraft(c *border.Request) (border.Answer, error) {
	name := c.PathValue("name")
	view, draft, err := findRow(c, noDraft, func(view *fsm.View) (fsm.Draft, bool) {
		for _, draft := range view.Drafts(drafter(c, view)) {
			if draft.Name == name {
				return draft, true
			}
		}
		return fsm.Draft{}, false
	})
	if err != nil {
		return border.Answer{}, err
	}
	var m strictjson.Members
	writeDraft(&m, draft, true)
	c.Judge.Index = view.Index
	return c.Reply(http.StatusOK, m), nil
}

func noDraft() *border.Error { return border.NotFound("you have no draft of this name") }

// putDraft is PUT /v1/drafts/{name}.
func putDraft(c *border.Request) (border.Answer, error) {
	f := c.ReadFields()
	name := c.PathValue("name")
	said, err := desk.ReadDraft(name, &f)
	if err != nil {
		return border.Answer{}, err
	}
	return answerDraft(c, name, said)
}

// dropDraft is DELETE /v1/drafts/{name}. A draft that is not there is dropped already.
func dropDraft(c *border.Request) (border.Answer, error) {
	name := c.PathValue("name")
	if !fsm.SoundDraftName(name) {
		return border.Answer{}, noDraft()
	}
	return answerDraft(c, name, nil)
}

// answerDraft answers 204: a draft has no leaf, and nothing to show that the caller did not send.
func answerDraft(c *border.Request, name string, said *wire.DraftText) (border.Answer, error) {
	return c.AnswerProposal(border.Proposal{
		Kind: wire.KindDraft, Record: func() (any, error) { return desk.DraftRecord(&c.Judge, name, said), nil },
	}, func(wire.Result) (border.Answer, error) { return border.NoContent(), nil })
}
