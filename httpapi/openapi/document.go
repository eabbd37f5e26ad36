package openapi

import (
	"encoding/json"
	"sync"

	"railguard/httpapi/description"
)

// Document is the OpenAPI document as JSON. It is made once; a test checks that this
// succeeds.
var Document = sync.OnceValues(func() ([]byte, error) { return json.Marshal(description.Document()) })
