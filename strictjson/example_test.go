package strictjson_test

import (
	"fmt"

	"railguard/strictjson"
)

// A body is checked completely before any member is read: no name twice, nothing behind the
// object, bounded depth.
func ExampleDocument() {
	var body strictjson.Document
	for _, text := range []string{
		`{"amount":100,"cpName":"Contoso Ltd"}`,
		`{"amount":100,"amount":1}`,
		`{"amount":100} and more`,
	} {
		body.Reset()
		if err := body.Read([]byte(text), 256); err != nil {
			fmt.Println("refused:", err)
			continue
		}
		fields := body.Fields()
		amount, literal := fields.RequiredUSD("amount")
		fmt.Println(int64(amount), literal, fields.Name("cpName"), fields.Err())
	}
	// Output:
	// 100000000 100 Contoso Ltd <nil>
	// refused: a member name stands twice in one object
	// refused: bytes after the object
}

// Answers are written member by member, and one function escapes every text.
func ExampleMembers() {
	var answer strictjson.Members
	answer.Text("name", "a \"b\"\n")
	answer.Uint("index", 7)
	answer.Null("rule")
	fmt.Println(string(answer.Body()))
	// Output: {"name":"a \"b\"\n","index":7,"rule":null}
}
