package console_test

import "github.com/stretchr/testify/require"

// readsNames looks at names that could rearrange what an officer reads: controls of direction are shown
// as their escapes, letters that run from right to left stand apart, and a case says what of a name
// could not be compared.
func (w *tab) readsNames(s *site, d *day) {
	screen := func(name string) string {
		return s.call(0, s.Key, "POST", "/v1/screen", `{"token":"`+d.token+`","amount":5,"cpName":"`+name+`"}`, 200)["txnId"].(string)
	}
	w.at("/case/"+screen(`\u202eskoobtA\u202c สมชาย`), `$5.00 to \u202eskoobtA\u202c สมชาย`)
	w.shows(".sentence", "could not be compared: its letters cannot be read. “สมชาย” (Thai)")
	require.Equal(w.t, "false", w.value(`/[\u202a-\u202e]/.test(document.body.innerText)`))
	w.at("/case/"+screen("Acme שלום 7 สมชาย"), "$5.00 to Acme שלום 7 สมชาย")
	require.Equal(w.t, "שלום", w.value(`document.querySelector('h1 bdi').textContent`))
	w.at("/match?name=%E0%B8%AA", "Match workbench")
	w.shows(".note.warn", "Not compared: ส (Thai): its letters cannot be read. Rule R21 reviews it.")
}
