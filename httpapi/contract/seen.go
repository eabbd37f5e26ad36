package contract

import "slices"

// anyOperation stands for requests that are answered before their operation is known.
var anyOperation = &Operation{Method: "(any)"}

func (c *Contract) saw(o *Operation, status string) {
	c.mutex.Lock()
	c.seen[o.Method+" "+o.Path+" "+status] = true
	c.mutex.Unlock()
}

// Unseen returns the declared answers of a guest's operations ("": the API's) that no
// exchange had, as "METHOD /path status". An answer that all operations share needs to come
// only once, from any of them: "(any) status". If an operation has its own code for a
// status, its answer counts separately.
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

// Uncalled returns the operations of the API that no exchange called: "METHOD /path".
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
