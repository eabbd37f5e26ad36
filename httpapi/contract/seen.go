package contract

import "slices"

// anyOperation stands for what is answered before there is one.
var anyOperation = &Operation{Method: "(any)"}

func (c *Contract) saw(o *Operation, status string) {
	c.mutex.Lock()
	c.seen[o.Method+" "+o.Path+" "+status] = true
	c.mutex.Unlock()
}

// Unseen are the answers of a guest's operations ("": the API's) that no exchange had:
// "METHOD /path status". An answer that any operation shares must have come once, from
// whichever: "(any) status". A code of an operation's own makes its status the operation's
// own.
func (c *Contract) Unseen(guest string) []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var missing []string
	shared := map[string]bool{}
	for _, o := range c.Operations {
		if o.Guest != guest {
			continue
		}
		for _, a := range o.Answers {
			name := o.Method + " " + o.Path + " " + a.Status
			if a.Shared && o.Codes[a.Status] == nil {
				shared[a.Status] = shared[a.Status] || c.seen[name]
				continue
			}
			if !c.seen[name] {
				missing = append(missing, name)
			}
		}
	}
	for status, came := range shared {
		if !came && !c.seen["(any)  "+status] {
			missing = append(missing, "(any) "+status)
		}
	}
	slices.Sort(missing)
	return missing
}

// Uncalled are the operations of the API that no exchange was of: "METHOD /path".
func (c *Contract) Uncalled() []string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var missing []string
	for _, o := range c.Operations {
		name := o.Method + " " + o.Path
		if o.Guest == "" && !slices.ContainsFunc(o.Answers, func(a *Answer) bool { return c.seen[name+" "+a.Status] }) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}
