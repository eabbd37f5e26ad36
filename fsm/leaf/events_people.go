package leaf

import "railguard/engine"

// SignedIn is a person whom the identity provider named, and who was let in.
type SignedIn struct {
	Key
	Subject string      `leaf:"subject" event:"4" doc:"whom the key acts for"`
	Widened bool        `leaf:"widened,omitempty" event:"6" doc:"the person is new here, or has a role that the last sign-in did not give"`
	Until   engine.Time `leaf:"until" event:"5" doc:"when the session ends at the latest"`

	Person   string   `leaf:"person,edge" event:"3" doc:"what the provider calls the person"`
	Roles    []string `leaf:"roles,edge" event:"7"`
	Issuer   string   `leaf:"issuer,edge" event:"8" doc:"the provider"`
	Provided string   `leaf:"providerSubject,edge" event:"9" doc:"the provider's own name for the person"`
}
