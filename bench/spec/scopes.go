package spec

// Small are scopes that a test walks through in seconds.
var Small = []*Scope{
	{
		Name: "a call with a key, two terms", Nodes: 2, Limit: 1, Day: 8, Terms: 2, Proposals: 2, Attempts: 2, Log: 4, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1, Key: true}},
	},
	{
		Name: "two calls, one limit", Nodes: 2, Limit: 1, Day: 8, Terms: 2, Proposals: 1, Attempts: 1, Log: 4, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Pay, Amount: 1}},
	},
	{
		Name: "a call without a key, two terms", Nodes: 2, Limit: 2, Day: 8, Terms: 2, Proposals: 2, Attempts: 3, Log: 5, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1}},
	},
	{
		Name: "a hold, settled or released, and time", Nodes: 1, Limit: 1, Day: 4, Terms: 1, Proposals: 1, Attempts: 1, Log: 6, Time: 4,
		Calls: []Call{{Kind: Pay, Amount: 1, Hold: 2}, {Kind: Settle, Amount: 1, Of: 0}, {Kind: Release, Of: 0}},
	},
	{
		Name: "a hold and another payment", Nodes: 1, Limit: 1, Day: 3, Terms: 1, Proposals: 1, Attempts: 1, Log: 6, Time: 3,
		Calls: []Call{{Kind: Pay, Amount: 1, Hold: 2}, {Kind: Settle, Amount: 1, Of: 0}, {Kind: Pay, Amount: 1}},
	},
	{
		Name: "wrong clocks at a new term", Nodes: 1, Limit: 1, Day: 3, Terms: 3, Proposals: 1, Attempts: 1, Log: 5, Time: 5, Leap: 2,
		Calls: []Call{{Kind: Pay, Amount: 1}},
	},
	{
		Name: "a hold, redeemed by two, and time", Nodes: 1, Limit: 1, Day: 4, Terms: 1, Proposals: 1, Attempts: 1, Log: 6, Time: 3,
		Calls: []Call{{Kind: Pay, Amount: 1, Hold: 2}, {Kind: Redeem, Of: 0}, {Kind: Redeem, Of: 0}},
	},
	{
		Name: "a payment, confirmed, listed since and redeemed", Nodes: 1, Limit: 1, Day: 2, Terms: 1, Proposals: 1, Attempts: 1, Log: 6, Time: 4,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Confirm, Of: 0, Listed: true}, {Kind: Redeem, Of: 0}},
	},
	{
		Name: "a payment, settled for more or confirmed", Nodes: 1, Limit: 1, Day: 2, Terms: 1, Proposals: 1, Attempts: 1, Log: 5, Time: 2,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Confirm, Of: 0}, {Kind: Settle, Amount: 2, Of: 0}},
	},
	{
		Name: "a payment, redeemed by two, one with a key, two terms", Nodes: 2, Limit: 1, Day: 8, Terms: 2, Proposals: 1, Attempts: 1, Log: 5, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Redeem, Key: true, Of: 0}, {Kind: Redeem, Of: 0}},
	},
	{
		Name: "redeemed with a key, two terms", Nodes: 2, Limit: 1, Day: 8, Terms: 2, Proposals: 2, Attempts: 1, Log: 5, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Redeem, Key: true, Of: 0}},
	},
}

// Large are scopes that take a minute and a half, and 2.5 GB.
var Large = []*Scope{
	{
		Name: "a call with a key, three nodes and terms", Nodes: 3, Limit: 1, Day: 8, Terms: 3, Proposals: 2, Attempts: 2, Log: 6, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1, Key: true}},
	},
	{
		Name: "two calls, one with a key, one limit", Nodes: 3, Limit: 1, Day: 8, Terms: 2, Proposals: 2, Attempts: 1, Log: 5, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1, Key: true}, {Kind: Pay, Amount: 1}},
	},
	{
		Name: "three calls, one limit", Nodes: 2, Limit: 2, Day: 8, Terms: 2, Proposals: 1, Attempts: 1, Log: 5, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Pay, Amount: 1}, {Kind: Pay, Amount: 1}},
	},
	{
		Name: "a hold, settled for more or released, two terms and time", Nodes: 2, Limit: 1, Day: 2, Terms: 2, Proposals: 1, Attempts: 1, Log: 6, Time: 3, Leap: 1,
		Calls: []Call{{Kind: Pay, Amount: 1, Hold: 2}, {Kind: Settle, Amount: 2, Key: true, Of: 0}, {Kind: Release, Of: 0}},
	},
	{
		Name: "a payment, redeemed by two, one with a key, three nodes and terms", Nodes: 3, Limit: 1, Day: 8, Terms: 3, Proposals: 1, Attempts: 1, Log: 6, Time: 0,
		Calls: []Call{{Kind: Pay, Amount: 1}, {Kind: Redeem, Key: true, Of: 0}, {Kind: Redeem, Of: 0}},
	},
}
