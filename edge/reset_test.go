package edge

import (
	"context"
	"reflect"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestReset: a judge that is used again keeps its memory and nothing else of the call before.
// The test fills every member by reflection, so it finds one that Reset forgets.
func TestReset(t *testing.T) {
	j := new(Judge)
	whole, room := reflect.ValueOf(j).Elem(), reflect.ValueOf(&j.screen).Elem()
	fill(whole)
	j.parsers = nil // Parsers go back to their pool.
	j.Reset()
	for _, part := range []reflect.Value{whole, room} {
		for i := range part.NumField() {
			field := part.Field(i)
			switch name := part.Type().Field(i).Name; {
			case name == "screen":
			case field.Kind() == reflect.Slice:
				require.Zero(t, field.Len(), name)
			default:
				require.True(t, field.IsZero(), name)
			}
		}
	}
	require.Equal(t, 1, cap(j.screen.keys), "the room is kept")
}

// fill gives every member a value that is not its zero value.
func fill(v reflect.Value) {
	v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem() // This reaches unexported members too.
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Array:
		fill(v.Index(0))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case reflect.Interface:
		v.Set(reflect.ValueOf(context.Background()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	default:
		panic("no value for " + v.Kind().String())
	}
}
