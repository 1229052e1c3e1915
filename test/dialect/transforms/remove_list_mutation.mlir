// RUN: tierup-opt %s --tierup-remove-list-mutation --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-remove-list-mutation,tierup-remove-list-mutation)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @appended
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor
func.func @appended(%x: !torch.vtensor) -> !torch.vtensor {
  %int0 = torch.constant.int 0
  %l = torch.prim.ListConstruct  : () -> !torch.list<vtensor>
  %w = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
  // CHECK: %[[T:.*]] = torch.aten.tanh %[[X]]
  %t = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  // CHECK-NEXT: %[[L:.*]] = torch.prim.ListConstruct %[[X]], %[[T]] :
  %v = torch.aten.append.t %w, %t : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
  // CHECK-NEXT: torch.aten.cat %[[L]]
  %0 = torch.aten.cat %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}

// -----
// Negative and overlong indices of insert clamp.
// CHECK-LABEL: func.func @inserted
// CHECK-SAME: %[[A:[a-z0-9]+]]: !torch.int, %[[B:[a-z0-9]+]]: !torch.int, %[[C:[a-z0-9]+]]: !torch.int, %[[D:[a-z0-9]+]]: !torch.int
func.func @inserted(%a: !torch.int, %b: !torch.int, %c: !torch.int, %d: !torch.int) -> !torch.list<int> {
  %last = torch.constant.int -1
  %far = torch.constant.int 9
  %before = torch.constant.int -9
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  torch.aten.insert.t %l, %far, %b : !torch.list<int>, !torch.int, !torch.int
  torch.aten.insert.t %l, %last, %c : !torch.list<int>, !torch.int, !torch.int
  torch.aten.insert.t %l, %before, %d : !torch.list<int>, !torch.int, !torch.int
  // CHECK-NEXT: %[[L:.*]] = torch.prim.ListConstruct %[[D]], %[[A]], %[[C]], %[[B]] :
  // CHECK-NEXT: return %[[L]]
  return %l : !torch.list<int>
}

// -----
// CHECK-LABEL: func.func @assigned
// CHECK-SAME: %[[A:[a-z0-9]+]]: !torch.int, %[[B:[a-z0-9]+]]: !torch.int
func.func @assigned(%a: !torch.int, %b: !torch.int, %i: !torch.int) -> (!torch.list<int>, !torch.list<int>, !torch.list<int>) {
  %last = torch.constant.int -1
  %two = torch.constant.int 2
  %l = torch.prim.ListConstruct %a, %a : (!torch.int, !torch.int) -> !torch.list<int>
  // CHECK: %[[L:.*]] = torch.prim.ListConstruct %[[A]], %[[B]] :
  %0 = torch.aten._set_item.t %l, %last, %b : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  // Out of range: the exception stays.
  %m = torch.prim.ListConstruct %a, %a : (!torch.int, !torch.int) -> !torch.list<int>
  // CHECK: torch.aten._set_item.t
  %1 = torch.aten._set_item.t %m, %two, %b : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  // An unknown index stays, and the append after it; the one before it does not.
  %k = torch.prim.ListConstruct  : () -> !torch.list<int>
  // CHECK: %[[K:.*]] = torch.prim.ListConstruct %[[A]] :
  %2 = torch.aten.append.t %k, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: torch.aten._set_item.t %[[K]]
  %3 = torch.aten._set_item.t %k, %i, %b : !torch.list<int>, !torch.int, !torch.int -> !torch.list<int>
  // CHECK: torch.aten.append.t %[[K]]
  %4 = torch.aten.append.t %k, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  // CHECK: return %[[L]],
  return %l, %m, %k : !torch.list<int>, !torch.list<int>, !torch.list<int>
}

// -----
// A loop appends more than once; the list is the caller's; it was put into another list.
// CHECK-LABEL: func.func @stay
func.func @stay(%a: !torch.int, %caller: !torch.list<int>) -> (!torch.list<int>, !torch.list<list<int>>) {
  %true = torch.constant.bool true
  // CHECK-COUNT-3: torch.aten.append.t
  %k = torch.prim.ListConstruct  : () -> !torch.list<int>
  torch.prim.Loop %a, %true, init() {
  ^bb0(%i: !torch.int):
    %1 = torch.aten.append.t %k, %i : !torch.list<int>, !torch.int -> !torch.list<int>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  %2 = torch.aten.append.t %caller, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %p = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %q = torch.prim.ListConstruct %p : (!torch.list<int>) -> !torch.list<list<int>>
  %3 = torch.aten.append.t %p, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  return %k, %q : !torch.list<int>, !torch.list<list<int>>
}

// -----
// Who looks in between sees what is in the list then.
// CHECK-LABEL: func.func @looked_at
// CHECK-NOT: torch.aten.append.t
// CHECK: %[[FIRST:.*]] = torch.prim.ListConstruct %arg0 :
// CHECK: torch.aten.len.t %[[FIRST]]
// CHECK: %[[SECOND:.*]] = torch.prim.ListConstruct %arg0, %{{.*}} :
// CHECK: torch.aten.add.t %[[SECOND]], %[[SECOND]]
// CHECK: %[[LAST:.*]] = torch.prim.ListConstruct %arg0, %{{.*}}, %arg0 :
// CHECK: %[[N:.*]] = torch.aten.len.t %[[LAST]]
// CHECK: return %[[LAST]], %{{.*}}, %[[N]]
func.func @looked_at(%a: !torch.int) -> (!torch.list<int>, !torch.list<int>, !torch.int) {
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %n = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  %0 = torch.aten.append.t %l, %n : !torch.list<int>, !torch.int -> !torch.list<int>
  %twice = torch.aten.add.t %l, %l : !torch.list<int>, !torch.list<int> -> !torch.list<int>
  %1 = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %m = torch.aten.len.t %l : !torch.list<int> -> !torch.int
  return %l, %twice, %m : !torch.list<int>, !torch.list<int>, !torch.int
}

// -----
// A list of a branch; one that nobody reads.
// CHECK-LABEL: func.func @in_a_branch
// CHECK-SAME: %[[C:[a-z0-9]+]]: !torch.bool, %[[A:[a-z0-9]+]]: !torch.int
func.func @in_a_branch(%c: !torch.bool, %a: !torch.int) -> !torch.list<int> {
  // CHECK-NEXT: torch.prim.If
  %0 = torch.prim.If %c -> (!torch.list<int>) {
    // CHECK-NEXT: %[[L:.*]] = torch.prim.ListConstruct %[[A]], %[[A]] :
    // CHECK-NEXT: torch.prim.If.yield %[[L]]
    %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
    %1 = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
    torch.prim.If.yield %l : !torch.list<int>
  } else {
    // CHECK: %[[E:.*]] = torch.prim.ListConstruct  :
    // CHECK-NEXT: torch.prim.ListConstruct %[[A]] :
    // CHECK-NEXT: torch.prim.If.yield %[[E]]
    %l = torch.prim.ListConstruct  : () -> !torch.list<int>
    %unread = torch.prim.ListConstruct  : () -> !torch.list<int>
    %1 = torch.aten.append.t %unread, %a : !torch.list<int>, !torch.int -> !torch.list<int>
    torch.prim.If.yield %l : !torch.list<int>
  }
  return %0 : !torch.list<int>
}

// -----
// A branch looks at the list in between; an item that its type calls something else.
// CHECK-LABEL: func.func @seen_in_a_branch
// CHECK-COUNT-2: torch.aten.append.t
func.func @seen_in_a_branch(%c: !torch.bool, %a: !torch.int, %x: !torch.vtensor<[2],f32>) -> (!torch.list<int>, !torch.int, !torch.list<vtensor>) {
  %l = torch.prim.ListConstruct %a : (!torch.int) -> !torch.list<int>
  %0 = torch.prim.If %c -> (!torch.int) {
    %1 = torch.aten.len.t %l : !torch.list<int> -> !torch.int
    torch.prim.If.yield %1 : !torch.int
  } else {
    torch.prim.If.yield %a : !torch.int
  }
  %2 = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  %m = torch.prim.ListConstruct  : () -> !torch.list<vtensor>
  %3 = torch.aten.append.t %m, %x : !torch.list<vtensor>, !torch.vtensor<[2],f32> -> !torch.list<vtensor>
  return %l, %0, %m : !torch.list<int>, !torch.int, !torch.list<vtensor>
}

// -----
// A list that is put into another one and then written.
// CHECK-LABEL: func.func @put_into_a_list
// CHECK-COUNT-2: torch.aten.append.t
func.func @put_into_a_list(%a: !torch.int) -> !torch.list<list<int>> {
  %l = torch.prim.ListConstruct  : () -> !torch.list<int>
  %o = torch.prim.ListConstruct  : () -> !torch.list<list<int>>
  %0 = torch.aten.append.t %o, %l : !torch.list<list<int>>, !torch.list<int> -> !torch.list<list<int>>
  %1 = torch.aten.append.t %l, %a : !torch.list<int>, !torch.int -> !torch.list<int>
  return %o : !torch.list<list<int>>
}

// -----
// What a loop appends to is carried by the loop.
// CHECK-LABEL: func.func @loop
// CHECK: %[[L:.*]] = torch.prim.ListConstruct : () -> !torch.list<vtensor>
// CHECK: %[[R:.*]]:2 = torch.prim.Loop %{{.*}}, init(%{{.*}}, %[[L]]) {
// CHECK-NEXT: ^bb0(%{{.*}}: !torch.int, %[[A:.*]]: !torch.vtensor, %[[M:.*]]: !torch.list<vtensor>):
// CHECK: %[[ONE:.*]] = torch.prim.ListConstruct %[[A]]
// CHECK: %[[MORE:.*]] = torch.aten.add.t %[[M]], %[[ONE]]
// CHECK: torch.prim.Loop.condition %{{.*}}, iter(%{{.*}}, %[[MORE]]
// CHECK: torch.aten.stack %[[R]]#1
func.func @loop(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor):
    %0 = torch.aten.append.t %l, %a : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %b = torch.aten.sin %a : !torch.vtensor -> !torch.vtensor
    torch.prim.Loop.condition %true, iter(%b : !torch.vtensor)
  } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.stack %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
// Not one that is appended to twice, that the loop looks at, or that is known before it.
// CHECK-LABEL: func.func @known
// CHECK-NOT: torch.aten.add.t
// CHECK: return
func.func @known(%x: !torch.vtensor, %n: !torch.int) -> (!torch.list<vtensor>, !torch.list<vtensor>, !torch.int) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %l = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  %m = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  %k = torch.prim.ListConstruct : () -> !torch.list<vtensor>
  %length = torch.aten.len.t %k : !torch.list<vtensor> -> !torch.int
  %r = torch.prim.Loop %n, %true, init(%zero) {
  ^bb0(%i: !torch.int, %a: !torch.int):
    %0 = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %1 = torch.aten.append.t %l, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %2 = torch.aten.append.t %m, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    %3 = torch.aten.len.t %m : !torch.list<vtensor> -> !torch.int
    %4 = torch.aten.append.t %k, %x : !torch.list<vtensor>, !torch.vtensor -> !torch.list<vtensor>
    torch.prim.Loop.condition %true, iter(%3 : !torch.int)
  } : (!torch.int, !torch.bool, !torch.int) -> !torch.int
  return %l, %m, %length : !torch.list<vtensor>, !torch.list<vtensor>, !torch.int
}
