// RUN: tierup-opt %s --split-input-file --verify-diagnostics --tierup-lower-bailouts

func.func @unknown_rank(%x: !torch.vtensor) -> !torch.vtensor {
  // expected-error @below {{needs a value of type !torch.vtensor to go on elsewhere: native code hands over numbers, tensors of known dtype and rank, and lists of these that nobody writes}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
  %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<[4],f32> to !torch.vtensor
  return %1 : !torch.vtensor
}

// -----
func.func @unknown_dtype(%x: !torch.vtensor<[?],unk>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{needs a value of type !torch.vtensor<[?],unk>}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],unk>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @list(%x: !torch.vtensor<[?],f32>, %l: !torch.list<vtensor>) -> (!torch.vtensor<[4],f32>, !torch.list<vtensor>) {
  // expected-error @below {{needs a value of type !torch.list<vtensor>}}
  %0 = "tierup.bailout"(%x, %l) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.list<vtensor>) -> !torch.vtensor<[4],f32>
  return %0, %l : !torch.vtensor<[4],f32>, !torch.list<vtensor>
}

// -----
func.func @list_that_grows(%x: !torch.vtensor<[?],f32>) -> (!torch.vtensor<[4],f32>, !torch.list<vtensor<[?],f32>>) {
  %l = torch.prim.ListConstruct %x : (!torch.vtensor<[?],f32>) -> !torch.list<vtensor<[?],f32>>
  // expected-error @below {{needs a value of type !torch.list<vtensor<[?],f32>>}}
  %0 = "tierup.bailout"(%x, %l) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>, !torch.list<vtensor<[?],f32>>) -> !torch.vtensor<[4],f32>
  %1 = torch.aten.append.t %l, %x : !torch.list<vtensor<[?],f32>>, !torch.vtensor<[?],f32> -> !torch.list<vtensor<[?],f32>>
  return %0, %l : !torch.vtensor<[4],f32>, !torch.list<vtensor<[?],f32>>
}

// -----
func.func @written(%x: !torch.tensor<[4],f32>) -> !torch.tensor<[4],f32> {
  // expected-error @below {{assumes f32[4] of a value of type !torch.tensor<[4],f32>, which is no tensor in native code}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.tensor<[4],f32>) -> !torch.tensor<[4],f32>
  return %0 : !torch.tensor<[4],f32>
}

// -----
func.func @number_of_no_kind(%n: !torch.number) -> !torch.number {
  // expected-error @below {{assumes int=3 of a value of type !torch.number, whose kind only the run knows}}
  %0 = "tierup.bailout"(%n) {index = 0 : i64, expected = #tierup.profiled<int=3>} : (!torch.number) -> !torch.number
  return %0 : !torch.number
}

// -----
func.func @gradient(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{assumes f32[4] requires_grad=true, which native code never sees}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4] requires_grad=true>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @elsewhere(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{assumes f32[4] device=cuda, which native code never sees}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4] device=cuda>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
func.func @symbol_in_a_loop(%x: !torch.vtensor<[?],f32>, %n: !torch.int) -> !torch.vtensor<[?],f32> {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[?],f32>):
    // expected-error @below {{asks for the size s1, which is first met inside a loop or a branch: native code keeps no such size}}
    %2 = "tierup.bailout"(%a, %n, %i) {index = 0 : i64, expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor<[?],f32>, !torch.int, !torch.int) -> !torch.vtensor<[?],f32>
    torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor<[?],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// -----
func.func @symbol_in_an_arm(%x: !torch.vtensor<[?],f32>, %c: !torch.bool) -> !torch.vtensor<[?],f32> {
  %0 = torch.prim.If %c -> (!torch.vtensor<[?],f32>) {
    %2 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
    torch.prim.If.yield %2 : !torch.vtensor<[?],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[?],f32>
  }
  // expected-error @below {{asks for the size s1, which is first met inside a loop or a branch}}
  %1 = "tierup.bailout"(%0) {index = 1 : i64, expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32>
  return %1 : !torch.vtensor<[?],f32>
}

// -----
func.func @twice(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32> {
  // expected-note @below {{the other one}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32>
  // expected-error @below {{has the index 0 of another bailout of the function}}
  %1 = "tierup.bailout"(%0) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %1 : !torch.vtensor<[4],f32>
}

// -----
func.func @main(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32> {
  %0 = func.call @step(%x) : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
func.func private @step(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32> {
  // expected-error @below {{leaves a function that another one calls: tierup-inline comes before bailouts}}
  %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
