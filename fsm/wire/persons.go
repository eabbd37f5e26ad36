package wire

// SignIn gives a person whom an identity provider named a secret for one session (decision 150).
// The person has one row among the API keys, which every sign-in renews. Only the node itself signs
// in: it has the provider's word.
type SignIn struct {
	Common
	Key APIKey `cbor:"4,keyasint"` // ID, of a new row; Name, Prefix, one hash, Roles, ExpiresAt, Person, PersonKey, SignedIn and Alias.
}
