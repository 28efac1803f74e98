// Fibers: functions stop and go on in the middle, exceptions stay with the fiber that threw them, stacks are reused.
#include "core/world/fiber.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace reshardcheck {
namespace {

struct Task {
  Fiber* fiber = nullptr;
  std::vector<std::string>* events = nullptr;
  std::string name;
};

TEST(Fiber, GoesOnWhereItStopped) {
  Fiber fiber(true);
  std::vector<std::string> events;
  Task task{&fiber, &events, "a"};
  const auto body = [](void* argument) {
    auto& self = *static_cast<Task*>(argument);
    self.events->push_back("begin");
    self.fiber->suspend();
    self.events->push_back("end");
  };
  EXPECT_TRUE(fiber.idle());
  fiber.start(body, &task);
  EXPECT_FALSE(fiber.idle());
  events.push_back("between");
  fiber.resume();
  EXPECT_TRUE(fiber.idle());
  EXPECT_EQ(events, (std::vector<std::string>{"begin", "between", "end"}));
}

TEST(Fiber, RunsManyFunctionsOneAfterAnother) {
  Fiber fiber(true);
  int count = 0;
  for (int turn = 0; turn < 1'000; ++turn) {
    fiber.start([](void* argument) { ++*static_cast<int*>(argument); }, &count);
  }
  EXPECT_EQ(count, 1'000);
}

TEST(Fiber, CarriesTheExceptionBeingHandledAcrossASwitch) {
  Fiber first(true);
  Fiber second(true);
  std::vector<std::string> events;
  Task tasks[] = {{&first, &events, "first"}, {&second, &events, "second"}};
  const auto body = [](void* argument) {
    auto& self = *static_cast<Task*>(argument);
    try {
      throw std::runtime_error(self.name);
    } catch (const std::runtime_error&) {
      self.fiber->suspend();  // the other fiber enters its handler now, and leaves it before this one does
      try {
        throw;
      } catch (const std::runtime_error& again) {
        self.events->push_back(again.what());
      }
    }
  };
  first.start(body, &tasks[0]);
  second.start(body, &tasks[1]);
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
  first.resume();
  second.resume();
  EXPECT_EQ(events, (std::vector<std::string>{"first", "second"}));
}

TEST(Fiber, HasItsWholeStack) {
  Fiber fiber(true);
  std::size_t deepest = 0;
  fiber.start(
      [](void* argument) {
        volatile char page[64 << 10];
        for (std::size_t at = 0; at < sizeof(page); at += 1'024) page[at] = 1;
        *static_cast<std::size_t*>(argument) = sizeof(page);
      },
      &deepest);
  EXPECT_GT(Fiber::stack_bytes(), deepest);
}

TEST(FiberPool, GivesTheStackThatCameBackLast) {
  FiberPool pool;
  std::unique_ptr<Fiber> fiber = pool.take();
  const Fiber* const before = fiber.get();
  pool.give_back(std::move(fiber));
  EXPECT_EQ(pool.take().get(), before);
}

}  // namespace
}  // namespace reshardcheck
