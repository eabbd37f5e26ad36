package console_test

import "testing"

// TestLeaveOnThePages: an officer sees whether an approved payment was confirmed, redeemed or settled,
// and the alert of one that was settled without.
func TestLeaveOnThePages(t *testing.T) {
	browser(t)
	s := cluster(t, 1)
	d := s.morning()
	w := s.window(0)
	w.signIn(s.Key)
	pay := func(verb, body string) { s.call(0, s.Key, "POST", "/v1/transactions/"+d.limit+"/"+verb, body, 200) }

	s.call(0, s.Key, "POST", "/v1/reviews/"+d.limit, `{"disposition":"APPROVED","reviewedBy":"Dana"}`, 200)
	w.at("/case/"+d.limit, "$6,200")
	w.shows("#leave", "Its leave is open until")
	pay("confirm", `{}`)
	w.at("/case/"+d.limit, "$6,200")
	w.shows("#payment", "Confirmed")
	w.shows("#payment", "PROCEED. Its leave is not taken yet.")
	pay("confirm", `{"redeem":true}`)
	w.at("/case/"+d.limit, "$6,200")
	w.shows("#leave", "Its leave was taken.")
	w.shows("#payment", "Redeemed")
	w.shows("#payment", "It counts until somebody settles or releases it.")
	pay("settle", `{}`)
	w.at("/case/"+d.limit, "$6,200")
	w.shows("#payment", "$6,200.")

	s.call(0, s.Key, "POST", "/v1/reviews/"+d.name, `{"disposition":"APPROVED","reviewedBy":"Dana"}`, 200)
	s.call(0, s.Key, "POST", "/v1/transactions/"+d.name+"/settle", `{}`, 200)
	w.at("/case/"+d.name, "$120")
	w.shows("strong#payment.over", "without its leave having been taken, which the policy wants")
	w.at("/alerts?kind=unpermitted", "Alerts")
	w.shows(".row", "Paid without leave taken")
	w.shows(".row a", d.name)
	w.shows(".row", "had to be redeemed before")
	w.at("/policy", "Policy")
	w.shows("tr", "permits.required\treview\tdefault")
	w.readsNames(s, d)
	w.clean()
}
