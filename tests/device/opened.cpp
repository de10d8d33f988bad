// What library_test.cpp opens.
extern "C" int opened_answer() { return 42; }
