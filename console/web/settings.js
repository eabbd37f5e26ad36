// This module keeps the officer's choices in this browser.

export const shortcuts = () => localStorage.getItem('railguard.shortcuts') !== 'off';
export const setShortcuts = (on) => localStorage.setItem('railguard.shortcuts', on ? 'on' : 'off');
