// Package browsertest starts the browser in which tests look at pages.
//
// Purpose: finds the Chromium of this machine, and opens windows of it with fresh profiles, which
// end with their test.
//
// May import: the standard library, chromedp. Never: production code imports it.
package browsertest
