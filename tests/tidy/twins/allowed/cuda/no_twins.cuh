#if defined(ONE)
struct Branch {};
#else
struct Branch {
  int other;
};
#endif
