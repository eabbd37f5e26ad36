package main

import "syscall/js"

// main gives the page one function and stays. The page asks it with an object of files (bytes by
// their names), whether they are packed, whether the page carried them, and the keys; it answers
// with JSON. A panic ends the program, and the page says that there is no answer.
func main() {
	js.Global().Set("railguardJudge", js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		q := question{files: map[string][]byte{}, packed: arguments[1].Bool(), carried: arguments[2].Bool(), keys: arguments[3].String()}
		names := js.Global().Get("Object").Call("keys", arguments[0])
		for i := range names.Length() {
			name := names.Index(i).String()
			content := arguments[0].Get(name)
			data := make([]byte, content.Length())
			js.CopyBytesToGo(data, content)
			q.files[name] = data
		}
		return string(judge(q).encode())
	}))
	select {}
}
