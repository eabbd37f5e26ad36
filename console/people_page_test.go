package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPeopleInTheBrowser: an admin who signed in by the provider makes a key, ends an officer, who
// does not get in any more, and reinstates him. Whoever is no admin has no such page.
func TestPeopleInTheBrowser(t *testing.T) {
	s, provider := byProvider(t, "officers=reviewer,chiefs=admin")
	require.NoError(t, s.LetOneAct(t.Context()))
	officer := s.window(0)
	officer.signInAs(provider, "00u-olga", "olga@bank.example", "officers")
	officer.at("/people", "Not for this key")
	chief := s.window(0)
	chief.signInAs(provider, "00u-carl", "carl@bank.example", "chiefs")
	chief.at("/people", "People")
	chief.shows("#people", "olga@bank.example")

	chief.click(".make")
	chief.types("dialog input[name=name]", "rail")
	chief.click("dialog input[value=settler]")
	chief.click("dialog button[type=submit]")
	chief.shows("dialog .secret", "rg_live_")
	chief.confirm()
	chief.shows("#people", "settler")

	row := `[...document.querySelectorAll('#people tr')].find((r) => r.innerText.includes('olga@bank.example'))`
	chief.value(row + `.querySelector('.end').click()`)
	chief.confirm()
	chief.shows("#people", "revoked")
	provider.Person.Subject, provider.Person.Email, provider.Person.Groups = "00u-olga", "olga@bank.example", []string{"officers"}
	officer.at("/", "Sign in")
	officer.click(".provider a")
	officer.arrives("[role=alert]", "Your access was ended here.")
	chief.value(row + `.querySelector('.reinstate').click()`)
	chief.confirm()
	officer.click(".provider a")
	officer.arrives("h1", "Overview")

	// Ending the person ends the sign-in and every key, and says how many.
	key := s.call(0, s.Key, "POST", "/admin/keys", `{"name":"olga's key","person":"olga@bank.example","roles":"reviewer"}`, 201)["key"].(string)
	officer.at("/queue", "Queue")
	chief.at("/people", "People")
	chief.shows("#people", "olga's key")
	chief.value(row + `.querySelector('.endperson').click()`)
	chief.types("dialog textarea", "left the bank")
	chief.confirm()
	chief.shows(".toast", "2 keys and sign-ins")
	chief.shows("#people", "person ended")
	s.call(0, key, "GET", "/v1/key", "", 401)
	officer.at("/", "Sign in")
	chief.value(`[...document.querySelectorAll('#people tr')].find((r) => r.innerText.includes('carl@bank.example')).querySelector('.endperson').click()`)
	chief.types("dialog textarea", "myself")
	chief.click("dialog button[type=submit]")
	chief.arrives("h1", "Sign in")
}
