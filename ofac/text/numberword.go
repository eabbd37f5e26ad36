package text

import (
	"maps"
	"slices"
	"strconv"
)

// English number words are spellings of their digits: FORTY-FOUR is 44, and so is "forty
// 4". Names use only whole numbers below a hundred in this way.

var unitWords = [...]string{
	"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
	"fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
}

var tenWords = [...]string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}

// ordinalWords are the ordinals that names spell out.
var ordinalWords = [...]string{
	"", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth",
}

// misspeltTens are common misspellings of the tens.
var misspeltTens = map[string]int{"fourty": 4, "ninty": 9, "fivety": 5, "eigthy": 8}

// numberWords maps every word, and every pair of words written as one, to digits.
func numberWords() map[string]string {
	table := map[string]string{}
	for value, word := range unitWords {
		if word != "" {
			table[word] = strconv.Itoa(value)
		}
	}
	for value, word := range ordinalWords {
		if word != "" {
			table[word] = strconv.Itoa(value)
		}
	}
	tens := map[string]int{}
	maps.Copy(tens, misspeltTens)
	for ten, word := range tenWords {
		tens[word] = ten
	}
	for _, word := range slices.Sorted(maps.Keys(tens)) {
		ten := tens[word]
		if word == "" {
			continue
		}
		table[word] = strconv.Itoa(10 * ten)
		for unit := 1; unit < 10; unit++ {
			digits := strconv.Itoa(10*ten + unit)
			table[word+unitWords[unit]] = digits
			table[word+strconv.Itoa(unit)] = digits
		}
	}
	return table
}

// addNumbers makes a group of each number's words and its digits.
func addNumbers(table map[string]respelling, group uint32) uint32 {
	words := numberWords()
	for value := 1; value < 100; value++ {
		digits := strconv.Itoa(value)
		group++
		table[digits] = respelling{digits, group}
		for _, ending := range [...]string{"st", "nd", "rd", "th"} {
			table[digits+ending] = respelling{digits, group}
		}
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		table[word] = respelling{words[word], table[words[word]].group}
	}
	return group
}
