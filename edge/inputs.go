package edge

import (
	"encoding/base64"
	"fmt"

	"railguard/fsm/wire"
)

// decodeInputs reads one encoded input back.
func decodeInputs(text string, v any) error {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	return wire.DecodeBody(data, v)
}
